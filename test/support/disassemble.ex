defmodule Mote.Disassemble do
  @moduledoc """
  Decodes a unit back to readable instructions, and checks the rules of guides/ir.md on what it finds.

  Only for tests: it reads what `Mote.Behaviour.Encode` writes, without the care that foreign bytes would need.
  """
  import Mote.Internal.Sized, only: [sized: 1]

  alias Mote.Behaviour.Primitives

  @formats %{
    0 => {:move, [:d, :o]},
    1 => {:op, [:d, :op]},
    2 => {:guard_op, [:d, :op, :l]},
    3 => {:tuple, [:d, :os]},
    4 => {:cons, [:d, :o, :o]},
    5 => {:self, [:d]},
    6 => {:call, [:d, :f, :os]},
    7 => {:tail_call, [:f, :os]},
    8 => {:return, [:o]},
    9 => {:jump, [:l]},
    10 => {:branch, [:o, :l]},
    11 => {:falsy, [:o, :l]},
    12 => {:match, [:o, :o, :l]},
    13 => {:match_tuple, [:o, :n, :d, :l]},
    14 => {:match_cons, [:o, :d, :d, :l]},
    15 => {:create, [:d, :b, :os]},
    16 => {:create_on, [:d, :b, :os, :o]},
    17 => {:send, [:o, :o]},
    18 => {:sendx, [:o, :o, :o]},
    19 => {:send_after, [:d, :o, :o, :o]},
    20 => {:become, [:b, :os]},
    21 => {:become_sink, []},
    22 => {:abort, [:o]},
    23 => {:done, []},
    24 => {:ignore, []},
    25 => {:cancel_timer, [:d, :o]},
    26 => {:unstash, [:o]},
    27 => {:fun, [:d, :f, :os]},
    28 => {:call_fun, [:d, :o, :os, :o]},
    29 => {:tail_call_fun, [:o, :os, :o]},
    30 => {:try, [:d]},
    31 => {:tried, []}
  }

  @primitives for row <- Primitives.all(), into: %{}, do: {row.number, {row.name, row.arity}}

  @doc "The unit as maps; operands are `{:r, n}` and `{:k, term}`, imports `{module, name, arity}`."
  def unit(<<"MOTE", 2, rest::binary>>) do
    {module, rest} = string(rest)
    <<hash::little-64, rest::binary>> = rest
    {atoms, rest} = vec(rest, fn rest -> map(string(rest), &String.to_atom/1) end)
    {constants, rest} = constants(rest, List.to_tuple(atoms))
    import_entry = fn rest -> import_entry(rest, List.to_tuple(atoms)) end
    {functions_used, rest} = vec(rest, import_entry)
    {behaviours_used, rest} = vec(rest, import_entry)

    t = %{
      constants: List.to_tuple(constants),
      functions: List.to_tuple(functions_used),
      behaviours: List.to_tuple(behaviours_used)
    }

    {functions, rest} = vec(rest, &code(&1, atoms, :effects, t))
    {behaviours, <<>>} = vec(rest, &code(&1, atoms, :safe, t))

    %{
      module: module,
      hash: hash,
      atoms: atoms,
      constants: constants,
      imports: %{functions: functions_used, behaviours: behaviours_used},
      functions: functions,
      behaviours: behaviours
    }
  end

  @doc "The code of one behaviour or function of a module."
  def code(module, name) do
    unit = unit(module.__mote__(:unit))
    found = Enum.find(unit.functions ++ unit.behaviours, &(&1.name == name))
    found.code
  end

  @doc "The unit as text."
  def text(module) do
    unit = unit(module.__mote__(:unit))

    for c <- unit.functions ++ unit.behaviours, into: "" do
      "#{c.name}/#{c.arity} (#{c.registers} registers, #{inspect(c.flag)})\n" <>
        for {i, at} <- Enum.with_index(c.code), into: "" do
          [name | fields] = Tuple.to_list(i)
          "  #{at}\t#{name} #{Enum.map_join(fields, " ", &show/1)}\n"
        end
    end
  end

  defp show({:r, n}), do: "r#{n}"
  defp show({:k, value}), do: inspect(value)
  defp show({:l, n}), do: "->#{n}"
  defp show({:d, n}), do: "r#{n} :="
  defp show({module, name, arity}), do: "#{inspect(module)}.#{name}/#{arity}"
  defp show(os) when is_list(os), do: "(" <> Enum.map_join(os, ", ", &show/1) <> ")"
  defp show(other), do: to_string(other)

  # -- decoding ------------------------------------------------------------------------------------------------

  defp code(rest, atoms, flag, t) do
    {name, rest} = u(rest)
    {arity, rest} = u(rest)
    {registers, <<set, rest::binary>>} = u(rest)
    {code, rest} = vec(rest, &instruction(&1, t))
    {sites, rest} = vec(rest, &site(&1, t))

    fields = %{
      name: Enum.at(atoms, name),
      arity: arity,
      registers: registers,
      code: code,
      sites: Map.new(sites)
    }

    {Map.merge(fields, %{flag: {flag, set == 1}, kind: if(flag == :safe, do: :behaviour, else: :function)}),
     rest}
  end

  defp site(rest, t) do
    {at, rest} = u(rest)
    {place, rest} = u(rest)
    {{at, elem(t.constants, place)}, rest}
  end

  defp instruction(<<code, rest::binary>>, t) do
    {name, formats} = Map.fetch!(@formats, code)
    {fields, rest} = Enum.flat_map_reduce(formats, rest, &field(&1, &2, t))
    {List.to_tuple([name | fields]), rest}
  end

  defp field(:op, rest, t) do
    {number, rest} = u(rest)
    {name, arity} = Map.fetch!(@primitives, number)
    {os, rest} = times(arity, rest, &operand(&1, t))
    {[name, os], rest}
  end

  defp field(:os, rest, t), do: map(vec(rest, &operand(&1, t)), &[&1])
  defp field(:o, rest, t), do: map(operand(rest, t), &[&1])
  defp field(:f, rest, t), do: map(u(rest), &[elem(t.functions, &1)])
  defp field(:b, rest, t), do: map(u(rest), &[elem(t.behaviours, &1)])
  defp field(:n, rest, _), do: map(u(rest), &[&1])
  defp field(tag, rest, _), do: map(u(rest), &[{tag, &1}])

  defp operand(rest, t) do
    map(u(rest), fn n ->
      if rem(n, 2) == 0, do: {:r, div(n, 2)}, else: {:k, elem(t.constants, div(n, 2))}
    end)
  end

  defp constants(rest, atoms) do
    {count, rest} = u(rest)

    Enum.reduce(List.duplicate(nil, count), {[], rest}, fn _, {known, rest} ->
      {value, rest} = constant(rest, atoms, &Enum.fetch!(known, &1))
      {known ++ [value], rest}
    end)
  end

  defp constant(<<0, rest::binary>>, _, _), do: map(u(rest), &unzigzag/1)
  defp constant(<<1, f::little-float-64, rest::binary>>, _, _), do: {f, rest}
  defp constant(<<2, rest::binary>>, atoms, _), do: map(u(rest), &elem(atoms, &1))
  defp constant(<<3, rest::binary>>, _, _), do: {[], rest}

  defp constant(<<4, rest::binary>>, _, known),
    do: map(vec(rest, &u/1), fn ns -> ns |> Enum.map(known) |> List.to_tuple() end)

  defp constant(<<5, rest::binary>>, _, known) do
    {head, rest} = u(rest)
    {tail, rest} = u(rest)
    {[known.(head) | known.(tail)], rest}
  end

  defp constant(<<6, rest::binary>>, _, _), do: string(rest)

  defp constant(<<7, _class, rest::binary>>, _, _),
    do: map(string(rest), &:erlang.binary_to_term/1)

  defp constant(<<8, rest::binary>>, _, known) do
    {pairs, rest} =
      vec(rest, fn rest ->
        {key, rest} = u(rest)
        {value, rest} = u(rest)
        {{known.(key), known.(value)}, rest}
      end)

    {Map.new(pairs), rest}
  end

  defp constant(<<9, sign, rest::binary>>, _, _) do
    map(string(rest), fn bytes ->
      size = :binary.decode_unsigned(bytes, :little)
      if sign == 1, do: -size, else: size
    end)
  end

  defp unzigzag(n) when rem(n, 2) == 0, do: div(n, 2)
  defp unzigzag(n), do: -div(n + 1, 2)

  defp import_entry(rest, atoms) do
    {module, rest} = u(rest)
    {name, rest} = u(rest)
    {arity, rest} = u(rest)
    {{elem(atoms, module), elem(atoms, name), arity}, rest}
  end

  defp string(rest) do
    {size, rest} = u(rest)
    sized(<<string::binary-size(^size), rest::binary>>) = rest
    {string, rest}
  end

  defp vec(rest, fun) do
    {count, rest} = u(rest)
    times(count, rest, fun)
  end

  defp times(0, rest, _), do: {[], rest}
  defp times(n, rest, fun), do: Enum.map_reduce(1..n, rest, fn _, rest -> fun.(rest) end)

  defp u(rest, shift \\ 0)
  defp u(<<0::1, n::7, rest::binary>>, shift), do: {Bitwise.bsl(n, shift), rest}

  defp u(<<1::1, n::7, rest::binary>>, shift),
    do: map(u(rest, shift + 7), &(&1 + Bitwise.bsl(n, shift)))

  defp map({value, rest}, fun), do: {fun.(value), rest}

  # -- rules ---------------------------------------------------------------------------------------------------

  @doc "Every breach of the rules in the unit of a module, as text; an empty list when all is well."
  def breaches(module) do
    unit = unit(module.__mote__(:unit))

    with_effects =
      for %{flag: {:effects, true}} = f <- unit.functions, do: {unit_module(unit), f.name, f.arity}

    Enum.flat_map(unit.functions ++ unit.behaviours, &breaches(&1, with_effects))
  end

  defp unit_module(unit), do: String.to_atom(unit.module)

  defp breaches(c, with_effects) do
    size = length(c.code)
    parameters = if c.kind == :behaviour, do: c.arity + 1, else: c.arity
    start = %{0 => MapSet.new(Enum.take(0..parameters, parameters))}
    bound = if c.registers > 512 or c.registers < parameters, do: ["#{c.registers} registers"], else: []

    {problems, flows} =
      c.code
      |> Enum.with_index()
      |> Enum.reduce({bound, start}, fn {i, at}, {problems, flows} ->
        case flows do
          %{^at => written} ->
            found = for {:r, n} <- read(i), n not in written, do: "reads r#{n} unwritten"

            after_i = MapSet.union(written, MapSet.new(writes(i)))
            more = labels(i) |> Enum.reject(&(&1 > at and &1 < size)) |> Enum.map(&"label #{&1}")
            range = for n <- writes(i), n >= c.registers, do: "writes r#{n}"
            flows = Enum.reduce(labels(i), flows, &meet(&2, &1, on_jump(i, written, after_i)))
            flows = if ends?(i), do: flows, else: meet(flows, at + 1, after_i)
            place = &"#{c.name} #{at}: #{inspect(i)}: #{&1}"
            {problems ++ Enum.map(found ++ more ++ range ++ wrong(i, c, with_effects), place), flows}

          _ ->
            {problems ++ ["#{c.name} #{at}: never reached"], flows}
        end
      end)

    if Map.has_key?(flows, size), do: problems ++ ["#{c.name}: no terminator at the end"], else: problems
  end

  defp meet(flows, at, written), do: Map.update(flows, at, written, &MapSet.intersection(&1, written))

  # What a failing test would have written must not be relied on.
  defp on_jump(_, written, _), do: written

  defp wrong({:tail_call, _, _}, %{kind: :behaviour}, _), do: ["tail call in a behaviour"]
  defp wrong({:tail_call_fun, _, _, _}, %{kind: :behaviour}, _), do: ["tail call in a behaviour"]
  defp wrong({:return, _}, %{kind: :behaviour}, _), do: ["return in a behaviour"]
  defp wrong({tag}, %{kind: :function}, _) when tag in [:done, :ignore], do: ["#{tag} in a function"]
  defp wrong({:become, _, _}, %{flag: {:safe, true}}, _), do: ["become in a safe behaviour"]
  defp wrong({:become_sink}, %{flag: {:safe, true}}, _), do: ["become in a safe behaviour"]

  defp wrong(i, %{flag: {:effects, false}}, with_effects) do
    calls = for f <- Tuple.to_list(i), f in with_effects, do: "calls #{inspect(f)}, which has effects"
    effects = [:self, :create, :create_on, :send, :sendx, :send_after, :cancel_timer, :become, :become_sink]
    effect = elem(i, 0) in effects
    if effect, do: ["effect without the flag" | calls], else: calls
  end

  defp wrong(_, _, _), do: []

  defp ends?(i), do: elem(i, 0) in [:tail_call, :tail_call_fun, :return, :jump, :abort, :done, :ignore]
  defp labels(i), do: for({:l, n} <- Tuple.to_list(i), do: n)
  defp writes({:match_tuple, _, n, {:d, d}, _}), do: Enum.to_list(d..(d + n - 1)//1)
  defp writes(i), do: for({:d, n} <- Tuple.to_list(i), do: n)
  defp read(i), do: for({:r, n} <- List.flatten(Tuple.to_list(i)), do: {:r, n})
end
