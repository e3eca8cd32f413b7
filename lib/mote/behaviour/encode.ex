defmodule Mote.Behaviour.Encode do
  # Last pass towards the machine: a unit of instructions -> the binary of guides/ir.md. Numbers atoms, constants
  # and imports in the order in which they are first used, so that the same source gives the same bytes.
  @moduledoc false

  alias Mote.Behaviour.Primitives

  @version 2
  @low -0x4000000000000000
  @high 0x3FFFFFFFFFFFFFFF

  # Hashes fit a small integer of the BEAM.
  @hash_mask 0x7FFFFFFFFFFFFFF

  @codes %{
    move: 0,
    op: 1,
    guard_op: 2,
    tuple: 3,
    cons: 4,
    self: 5,
    call: 6,
    tail_call: 7,
    return: 8,
    jump: 9,
    branch: 10,
    falsy: 11,
    match: 12,
    match_tuple: 13,
    match_cons: 14,
    create: 15,
    create_on: 16,
    send: 17,
    sendx: 18,
    send_after: 19,
    become: 20,
    become_sink: 21,
    abort: 22,
    done: 23,
    ignore: 24,
    cancel_timer: 25,
    unstash: 26,
    fun: 27,
    call_fun: 28,
    tail_call_fun: 29,
    try: 30,
    tried: 31
  }

  @doc "The binary of a unit and its hash, which is over everything but itself."
  @spec unit(map) :: {binary, non_neg_integer}
  def unit(unit) do
    tables = %{
      module: unit.module,
      atoms: table(),
      constants: table(),
      functions: table(),
      behaviours: table()
    }

    {functions, t} = Enum.map_reduce(unit.functions, tables, &function/2)
    {behaviours, t} = Enum.map_reduce(unit.behaviours, t, &behaviour/2)

    # Imports name atoms, so they are written before the atoms are counted.
    {function_imports, t} = imports(t, :functions)
    {behaviour_imports, t} = imports(t, :behaviours)

    head = ["MOTE", @version, string(Atom.to_string(unit.module))]

    rest = [
      vec(t.atoms |> items() |> Enum.map(&string(Atom.to_string(&1)))),
      vec(items(t.constants)),
      vec(function_imports),
      vec(behaviour_imports),
      vec(functions),
      vec(behaviours)
    ]

    <<hash::64, _::64>> = :erlang.md5([head, rest])
    hash = Bitwise.band(hash, @hash_mask)
    {IO.iodata_to_binary([head, <<hash::little-64>>, rest]), hash}
  end

  defp function(f, t) do
    {name, t} = atom(f.name, t)
    {code, t} = code(f.code, t)
    {[u(name), u(f.arity), u(f.registers), flag(f.effects) | code], t}
  end

  defp behaviour(b, t) do
    {name, t} = atom(b.name, t)
    {code, t} = code(b.code, t)
    {[u(name), u(b.captures), u(b.registers), flags(b) | code], t}
  end

  # The instructions, and the calls among them that have a place.
  defp code(code, t) do
    {instructions, t} = Enum.map_reduce(code, t, &instruction/2)

    {sites, t} =
      for({{:call, _, _, _, where}, at} when where != nil <- Enum.with_index(code), do: {at, where})
      |> Enum.map_reduce(t, fn {at, where}, t ->
        {place, t} = constant(where, t)
        {[u(at), u(place)], t}
      end)

    {[vec(instructions), vec(sites)], t}
  end

  defp flags(%{beam: true}), do: 2
  defp flags(behaviour), do: flag(behaviour.safe)

  defp flag(true), do: 1
  defp flag(false), do: 0

  defp imports(t, key) do
    t
    |> Map.fetch!(key)
    |> items()
    |> Enum.map_reduce(t, fn {module, name, arity}, t ->
      {module, t} = atom(module || t.module, t)
      {name, t} = atom(name, t)
      {[u(module), u(name), u(arity)], t}
    end)
  end

  # -- instructions --------------------------------------------------------------------------------------------

  defp instruction(instruction, t) do
    [name | fields] = Tuple.to_list(instruction)
    {fields, t} = fields(name, fields, t)
    {[Map.fetch!(@codes, name) | fields], t}
  end

  defp fields(:op, [d, primitive, os], t), do: primitive(d, primitive, os, [], t)

  defp fields(:guard_op, [d, primitive, os, label], t),
    do: primitive(d, primitive, os, [u(label)], t)

  defp fields(:self, [d], t), do: {[u(d)], t}

  defp fields(:call, [d, function, os, _where], t) do
    {f, t} = import_index(:functions, function, t)
    {os, t} = operands(os, t)
    {[u(d), u(f), vec(os)], t}
  end

  defp fields(:tail_call, [function, os], t) do
    {f, t} = import_index(:functions, function, t)
    {os, t} = operands(os, t)
    {[u(f), vec(os)], t}
  end

  defp fields(:fun, [d, function, os], t) do
    {f, t} = import_index(:functions, function, t)
    {os, t} = operands(os, t)
    {[u(d), u(f), vec(os)], t}
  end

  defp fields(:jump, [label], t), do: {[u(label)], t}

  defp fields(:match_tuple, [o, n, d, label], t) do
    {o, t} = operand(o, t)
    {[o, u(n), u(d), u(label)], t}
  end

  defp fields(:match_cons, [o, head, tail, label], t) do
    {o, t} = operand(o, t)
    {[o, u(head), u(tail), u(label)], t}
  end

  defp fields(:create, [d, behaviour, os], t) do
    {b, t} = behaviour_index(behaviour, t)
    {os, t} = operands(os, t)
    {[u(d), u(b), vec(os)], t}
  end

  defp fields(:create_on, [d, behaviour, os, sponsor], t) do
    {b, t} = behaviour_index(behaviour, t)
    {os, t} = operands(os, t)
    {sponsor, t} = operand(sponsor, t)
    {[u(d), u(b), vec(os), sponsor], t}
  end

  defp fields(:become, [behaviour, os], t) do
    {b, t} = behaviour_index(behaviour, t)
    {os, t} = operands(os, t)
    {[u(b), vec(os)], t}
  end

  # The rest are registers, operands, vectors of operands and labels, as they stand.
  defp fields(_, fields, t) do
    Enum.map_reduce(fields, t, fn
      {_, _} = o, t ->
        operand(o, t)

      os, t when is_list(os) ->
        {os, t} = operands(os, t)
        {vec(os), t}

      number, t ->
        {u(number), t}
    end)
  end

  defp primitive(d, primitive, os, rest, t) do
    {os, t} = operands(os, t)
    {[u(d), u(Primitives.number(primitive)), os, rest], t}
  end

  defp operands(os, t), do: Enum.map_reduce(os, t, &operand/2)

  defp operand({:r, n}, t), do: {u(2 * n), t}

  defp operand({:k, value}, t) do
    {n, t} = constant(value, t)
    {u(2 * n + 1), t}
  end

  # -- tables --------------------------------------------------------------------------------------------------

  defp table, do: {%{}, 0, []}
  defp items({_, _, items}), do: Enum.reverse(items)

  # The number of an item, which is added when its key is new.
  defp index(table, key, t, item) do
    {known, count, items} = Map.fetch!(t, table)

    case known do
      %{^key => n} -> {n, t}
      _ -> {count, Map.put(t, table, {Map.put(known, key, count), count + 1, [item | items]})}
    end
  end

  defp atom(atom, t), do: index(:atoms, atom, t, atom)

  defp import_index(table, ref, t), do: index(table, ref, t, ref)

  defp behaviour_index(:sink, t), do: import_index(:behaviours, {nil, :sink, 0}, t)
  defp behaviour_index(ref, t), do: import_index(:behaviours, ref, t)

  # Told apart by what they are encoded as: 0.0 and -0.0 are equal for older releases of OTP, also as keys. What a list,
  # tuple or map consists of is in that by its numbers, so that long ones cost no more for each of their elements.
  defp constant(value, t) do
    {encoded, t} = encode_constant(value, t)
    index(:constants, encoded, t, encoded)
  end

  defp encode_constant(n, t) when is_integer(n) and n >= @low and n <= @high, do: {[0, s(n)], t}

  defp encode_constant(n, t) when is_integer(n) do
    if Mote.Total.Integers.number?(n) do
      sign = if n < 0, do: 1, else: 0
      {[9, sign, string(:binary.encode_unsigned(abs(n), :little))], t}
    else
      {opaque(0, n), t}
    end
  end

  defp encode_constant(f, t) when is_float(f), do: {[1, <<f::little-float-64>>], t}
  defp encode_constant([], t), do: {[3], t}

  defp encode_constant(atom, t) when is_atom(atom) do
    {n, t} = atom(atom, t)
    {[2, u(n)], t}
  end

  defp encode_constant(tuple, t) when is_tuple(tuple) do
    {ns, t} = tuple |> Tuple.to_list() |> Enum.map_reduce(t, &constant/2)
    {[4, vec(Enum.map(ns, &u/1))], t}
  end

  defp encode_constant([head | tail], t) do
    {head, t} = constant(head, t)
    {tail, t} = constant(tail, t)
    {[5, u(head), u(tail)], t}
  end

  defp encode_constant(binary, t) when is_binary(binary), do: {[6, string(binary)], t}
  # Sorted, so that the same source gives the same bytes.
  defp encode_constant(map, t) when is_map(map) do
    {pairs, t} =
      map
      |> :maps.to_list()
      |> Enum.sort()
      |> Enum.map_reduce(t, fn {key, value}, t ->
        {key, t} = constant(key, t)
        {value, t} = constant(value, t)
        {[u(key), u(value)], t}
      end)

    {[8, vec(pairs)], t}
  end

  defp encode_constant(bits, t) when is_bitstring(bits) do
    unused = 8 - rem(bit_size(bits), 8)
    {[10, unused, string(<<bits::bitstring, 0::size(unused)>>)], t}
  end

  # A default of a struct, which is named: others are none that a literal has.
  defp encode_constant(function, t) when is_function(function), do: {opaque(2, function), t}

  defp opaque(class, term), do: [7, class, string(:erlang.term_to_binary(term))]

  # -- numbers -------------------------------------------------------------------------------------------------

  defp vec(items), do: [u(length(items)) | items]
  defp string(binary), do: [u(byte_size(binary)), binary]

  defp u(n) when n < 128, do: <<n>>
  defp u(n), do: [<<1::1, n::7>>, u(Bitwise.bsr(n, 7))]

  defp s(n) when n >= 0, do: u(2 * n)
  defp s(n), do: u(-2 * n - 1)
end
