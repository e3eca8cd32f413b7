defmodule Mote.Behaviour.IR.Registers do
  # From the builder's list to final code: unread values and jumps to the next instruction are dropped,
  # virtual registers get real ones, labels become positions. Part of the IR pass.
  #
  # All jumps go forward, so the life of a register is the stretch from its first write to its last read in the
  # order of the list: a linear scan with these stretches is exact enough and needs no flow graph.
  @moduledoc false

  alias Mote.Behaviour.{Error, Primitives}
  alias Mote.Behaviour.IR.Builder

  @max 512

  @doc "The number of registers, the final code of something with `params` parameters, and the line of each instruction."
  def assign(params, {instructions, lines}, env, code) do
    instructions = instructions |> drop_unread() |> drop_jumps()

    lines =
      for instruction <- instructions, not match?({:label, _}, instruction) do
        case writes(instruction) do
          [d] -> Map.get(lines, d, code.line)
          _ -> code.line
        end
      end

    {used, instructions} = allocate(instructions, params)

    if used > @max do
      Error.raise_at(
        env,
        code.line,
        "#{code.name}/#{code.arity} needs more than #{@max} registers: split it into defpure functions"
      )
    end

    {max(used, 1), resolve(instructions), lines}
  end

  # -- what is not needed --------------------------------------------------------------------------------------

  defp drop_unread(instructions) do
    {kept, _} =
      instructions
      |> Enum.reverse()
      |> Enum.reduce({[], MapSet.new()}, fn instruction, {kept, read} ->
        if silent?(instruction) and not Enum.any?(writes(instruction), &(&1 in read)),
          do: {kept, read},
          else: {[instruction | kept], Enum.into(reads(instruction), read)}
      end)

    kept
  end

  # Instructions that do nothing but write a register; not even spend fuel.
  defp silent?({:op, _, primitive, _}), do: not Primitives.pays?(primitive)
  defp silent?(instruction), do: elem(instruction, 0) in [:move, :tuple, :cons, :self, :fun]

  defp drop_jumps(instructions) do
    aliases = aliases(instructions, %{})

    instructions =
      Enum.map(instructions, fn instruction ->
        case Builder.target(instruction) do
          nil -> instruction
          label -> Builder.retarget(instruction, follow(label, aliases))
        end
      end)

    shorter = instructions |> drop_unreachable() |> drop_needless()
    if shorter == instructions, do: shorter, else: drop_jumps(shorter)
  end

  # A label in front of a jump is another name for where that one goes.
  defp aliases([{:label, l} | rest], known) do
    case Enum.find(rest, &(not match?({:label, _}, &1))) do
      {:jump, to} -> aliases(rest, Map.put(known, l, to))
      _ -> aliases(rest, known)
    end
  end

  defp aliases([_ | rest], known), do: aliases(rest, known)
  defp aliases([], known), do: known

  defp follow(label, aliases) do
    case aliases do
      %{^label => to} -> follow(to, aliases)
      _ -> label
    end
  end

  defp drop_unreachable(instructions) do
    used = for i <- instructions, label = Builder.target(i), into: MapSet.new(), do: label

    {kept, _} =
      Enum.reduce(instructions, {[], true}, fn
        {:label, l} = label, {kept, live} ->
          if l in used, do: {[label | kept], true}, else: {kept, live}

        _, {kept, false} ->
          {kept, false}

        instruction, {kept, true} ->
          {[instruction | kept], not terminator?(instruction)}
      end)

    Enum.reverse(kept)
  end

  defp terminator?(instruction),
    do: elem(instruction, 0) in [:jump, :return, :tail_call, :tail_call_fun, :abort, :done, :ignore]

  # A jump or a test whose both ways lead to the same place.
  defp drop_needless([instruction | rest]) do
    target = Builder.target(instruction)

    if target != nil and free?(instruction) and target in following_labels(rest),
      do: drop_needless(rest),
      else: [instruction | drop_needless(rest)]
  end

  defp drop_needless([]), do: []

  # A jump, or a test that spends no fuel. What is compared with a value of one word is not gone through.
  defp free?({:match, a, b, _}), do: word?(a) or word?(b)
  defp free?(instruction), do: elem(instruction, 0) in [:jump, :branch, :falsy]

  defp word?({:k, value}), do: is_atom(value) or is_number(value) or value == []
  defp word?(_), do: false

  defp following_labels(rest) do
    for {:label, l} <- Enum.take_while(rest, &match?({:label, _}, &1)), do: l
  end

  # -- registers -----------------------------------------------------------------------------------------------

  defp allocate(instructions, params) do
    numbered = Enum.with_index(instructions)

    last = for {instruction, at} <- numbered, v <- reads(instruction), into: %{}, do: {v, at}

    places = if params == 0, do: %{}, else: for(v <- 0..(params - 1), into: %{}, do: {v, v})
    busy = for {v, real} <- places, Map.has_key?(last, v), into: %{}, do: {real, last[v]}

    {instructions, s} =
      Enum.map_reduce(numbered, %{places: places, busy: busy, used: params}, fn
        {instruction, at}, s -> allocate(instruction, at, last, s)
      end)

    {s.used, instructions}
  end

  # `busy` maps a real register to the position of the last read of what is in it.
  defp allocate(instruction, at, last, s) do
    read = Map.new(reads(instruction), &{&1, Map.fetch!(s.places, &1)})
    keep = if together?(instruction), do: at - 1, else: at
    busy = for {real, until} <- s.busy, until > keep, into: %{}, do: {real, until}
    s = write(writes(instruction), instruction, at, last, %{s | busy: busy})
    {rename(instruction, read, s.places), s}
  end

  # These write several registers while they still read their operand: they must not overlap.
  defp together?(instruction), do: elem(instruction, 0) in [:match_tuple, :match_cons]

  defp write([], _, _, _, s), do: s

  defp write(vs, {:match_tuple, _, n, _, _}, at, last, s) do
    first = place(fn r -> Enum.all?(r..(r + n - 1)//1, &(not is_map_key(s.busy, &1))) end)
    vs |> Enum.with_index(first) |> Enum.reduce(s, fn {v, real}, s -> put(v, real, at, last, s) end)
  end

  defp write(vs, _, at, last, s) do
    Enum.reduce(vs, s, fn v, s ->
      case s.places do
        # A register where branches meet has its place since the first of them.
        %{^v => real} when is_map_key(s.busy, real) -> put(v, real, at, last, s)
        _ -> put(v, place(&(not is_map_key(s.busy, &1))), at, last, s)
      end
    end)
  end

  # Where there is none any more it is the one behind the last, which is found to be too many in the end.
  defp place(free?), do: Enum.find(0..@max, @max, free?)

  defp put(v, real, at, last, s) do
    %{
      s
      | places: Map.put(s.places, v, real),
        busy: Map.put(s.busy, real, Map.get(last, v, at)),
        used: max(s.used, real + 1)
    }
  end

  defp rename(instruction, read, places) do
    o = fn
      {:r, v} -> {:r, Map.fetch!(read, v)}
      k -> k
    end

    os = &Enum.map(&1, o)
    d = &Map.fetch!(places, &1)

    case instruction do
      {:move, t, a} -> {:move, d.(t), o.(a)}
      {:op, t, p, as} -> {:op, d.(t), p, os.(as)}
      {:guard_op, t, p, as, l} -> {:guard_op, d.(t), p, os.(as), l}
      {:tuple, t, as} -> {:tuple, d.(t), os.(as)}
      {:cons, t, a, b} -> {:cons, d.(t), o.(a), o.(b)}
      {tag, t} when tag in [:self, :try] -> {tag, d.(t)}
      {:call, t, f, as, where} -> {:call, d.(t), f, os.(as), where}
      {:tail_call, f, as} -> {:tail_call, f, os.(as)}
      {:fun, t, f, as} -> {:fun, d.(t), f, os.(as)}
      {:call_fun, t, f, as, place} -> {:call_fun, d.(t), o.(f), os.(as), place}
      {:tail_call_fun, f, as, place} -> {:tail_call_fun, o.(f), os.(as), place}
      {:return, a} -> {:return, o.(a)}
      {:branch, a, l} -> {:branch, o.(a), l}
      {:falsy, a, l} -> {:falsy, o.(a), l}
      {:match, a, b, l} -> {:match, o.(a), o.(b), l}
      {:match_tuple, a, n, t, l} -> {:match_tuple, o.(a), n, d.(t), l}
      {:match_cons, a, h, t, l} -> {:match_cons, o.(a), d.(h), d.(t), l}
      {:create, t, b, as} -> {:create, d.(t), b, os.(as)}
      {:create_on, t, b, as, s} -> {:create_on, d.(t), b, os.(as), o.(s)}
      {:send, a, b} -> {:send, o.(a), o.(b)}
      {:sendx, a, b, c} -> {:sendx, o.(a), o.(b), o.(c)}
      {:send_after, t, a, b, c} -> {:send_after, d.(t), o.(a), o.(b), o.(c)}
      {:cancel_timer, t, a} -> {:cancel_timer, d.(t), o.(a)}
      {:become, b, as} -> {:become, b, os.(as)}
      {tag, a} when tag in [:abort, :unstash] -> {tag, o.(a)}
      other -> other
    end
  end

  @doc "The registers that an instruction reads."
  def reads(instruction), do: for({:r, v} <- operands(instruction), do: v)

  @doc "The operands of an instruction."
  def operands(instruction) do
    case instruction do
      {:move, _, a} -> [a]
      {:op, _, _, as} -> as
      {:guard_op, _, _, as, _} -> as
      {:tuple, _, as} -> as
      {:cons, _, a, b} -> [a, b]
      {:call, _, _, as, _} -> as
      {:tail_call, _, as} -> as
      {:fun, _, _, as} -> as
      {:call_fun, _, f, as, _} -> [f | as]
      {:tail_call_fun, f, as, _} -> [f | as]
      {tag, a} when tag in [:return, :abort, :unstash] -> [a]
      {tag, a, _} when tag in [:branch, :falsy] -> [a]
      {:match, a, b, _} -> [a, b]
      {:match_tuple, a, _, _, _} -> [a]
      {:match_cons, a, _, _, _} -> [a]
      {:create, _, _, as} -> as
      {:create_on, _, _, as, s} -> as ++ [s]
      {:send, a, b} -> [a, b]
      {:sendx, a, b, c} -> [a, b, c]
      {:send_after, _, a, b, c} -> [a, b, c]
      {:cancel_timer, _, a} -> [a]
      {:become, _, as} -> as
      _ -> []
    end
  end

  @doc "The registers that an instruction writes."
  def writes(instruction) do
    case instruction do
      {tag, d, _} when tag in [:move, :tuple, :cancel_timer] -> [d]
      {tag, d, _, _} when tag in [:op, :cons, :create, :fun] -> [d]
      {tag, d, _, _, _} when tag in [:call, :call_fun, :guard_op, :create_on, :send_after] -> [d]
      {tag, d} when tag in [:self, :try] -> [d]
      {:match_tuple, _, n, d, _} -> Enum.to_list(d..(d + n - 1)//1)
      {:match_cons, _, head, tail, _} -> [head, tail]
      _ -> []
    end
  end

  # -- labels --------------------------------------------------------------------------------------------------

  defp resolve(instructions) do
    {positions, _} =
      Enum.reduce(instructions, {%{}, 0}, fn
        {:label, l}, {positions, at} -> {Map.put(positions, l, at), at}
        _, {positions, at} -> {positions, at + 1}
      end)

    for instruction <- instructions, not match?({:label, _}, instruction) do
      case Builder.target(instruction) do
        nil -> instruction
        label -> Builder.retarget(instruction, Map.fetch!(positions, label))
      end
    end
  end
end
