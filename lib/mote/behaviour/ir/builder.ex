defmodule Mote.Behaviour.IR.Builder do
  # The list of instructions under construction: an unlimited number of virtual registers, labels by number,
  # what may still be reached and what is known there. Registers are written once, except those where branches
  # meet, which each branch writes once. Decides nothing about the code, but omits tests that are known to
  # hold.
  #
  # Operands are {:r, register} and {:k, constant}; labels stand in the list as {:label, n}.
  @moduledoc false

  alias Mote.Behaviour.IR.Known

  # `used` maps the labels that something goes to, to what is known there; `lines` the registers that operations and calls
  # write, to the lines of the source.
  defstruct code: [],
            registers: 0,
            labels: 0,
            live: true,
            known: Known.nothing(),
            used: %{},
            env: %{},
            cold: [],
            line: 0,
            lines: %{}

  @doc "The code of something with these parameters, which are in the first registers."
  def new(params) do
    env = params |> Enum.with_index() |> Map.new(fn {v, n} -> {v, {:r, n}} end)
    %__MODULE__{env: env, registers: length(params)}
  end

  @doc "A new register, or the first of `n` consecutive ones."
  def fresh(g, n \\ 1), do: {g.registers, %{g | registers: g.registers + n}}

  @doc "A new label."
  def label(g), do: {g.labels, %{g | labels: g.labels + 1}}

  @doc "Says where a variable is."
  def bind(g, v, o), do: %{g | env: Map.put(g.env, v, o)}

  @doc "Adds an instruction, if it can be reached."
  def emit(%{live: false} = g, _), do: g

  def emit(%{known: known} = g, instruction) do
    if Known.holds?(known, instruction) do
      g
    else
      used = mark(target(instruction), known, g.used)
      known = Known.after_instruction(known, instruction)
      %{g | code: [instruction | g.code], used: used, known: known, lines: noted(g, instruction)}
    end
  end

  @doc "Says from which line of the source comes what is emitted next."
  def at(g, line), do: %{g | line: line}

  defp noted(%{line: line, lines: lines}, instruction) do
    case instruction do
      {:op, d, _, _} -> Map.put(lines, d, line)
      {tag, d, _, _, _} when tag in [:guard_op, :call, :call_fun] -> Map.put(lines, d, line)
      _ -> lines
    end
  end

  @doc "Adds an instruction after which nothing is reached."
  def stop(g, instruction), do: %{emit(g, instruction) | live: false}

  @doc "Puts a label here, if anything goes to it."
  def place(label, g) do
    case g.used do
      %{^label => there} ->
        known = if g.live, do: Known.meet(g.known, there), else: there
        %{g | code: [{:label, label} | g.code], live: true, known: known}

      _ ->
        g
    end
  end

  @doc "Code that is rarely needed: it is made at the end, if anything goes to its label."
  def cold(g, label, fun), do: %{g | cold: [{label, fun} | g.cold]}

  @doc "Brings an operand to its destination."
  def finish(o, :any, g), do: {o, g}
  def finish(o, :none, g), do: {o, g}
  def finish({:r, d}, {:r, d}, g), do: {{:r, d}, g}
  def finish(o, {:r, d}, g), do: {{:r, d}, emit(g, {:move, d, o})}
  def finish(o, :return, g), do: {o, stop(g, {:return, o})}
  def finish(o, :done, g), do: {o, stop(g, {:done})}

  @doc "All instructions in order, the cold ones last, and the lines of what they write."
  def instructions(g) do
    g =
      g.cold
      |> Enum.reverse()
      |> Enum.reduce(%{g | live: false, cold: []}, fn {label, fun}, g -> fun.(place(label, g)) end)

    {Enum.reverse(g.code), g.lines}
  end

  defp mark(nil, _, used), do: used
  defp mark(label, known, used), do: Map.update(used, label, known, &Known.meet(&1, known))

  @doc "The label that an instruction may go to, or nil."
  def target({:guard_op, _, _, _, label}), do: label
  def target({:jump, label}), do: label
  def target({tag, _, label}) when tag in [:branch, :falsy], do: label
  def target({:match, _, _, label}), do: label
  def target({:match_tuple, _, _, _, label}), do: label
  def target({:match_cons, _, _, _, label}), do: label
  def target(_), do: nil

  @doc "The instruction with another label."
  def retarget(instruction, label), do: put_elem(instruction, tuple_size(instruction) - 1, label)
end
