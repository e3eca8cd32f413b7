defmodule Mote.Behaviour.IR.Conditions do
  # Conditions and guards as jumps. Part of the IR pass.
  #
  # A condition (`if`, `cond`, `&&`) goes on when its value is neither false nor nil. A guard goes on when it is
  # exactly true; it may be false, and it may fail, when a primitive in it has no answer, which `not` and `or` do
  # not turn into success: hence two labels. The same holds for a condition that may be `:undefined`.
  @moduledoc false

  alias Mote.Behaviour.{IR, Primitives}
  alias Mote.Behaviour.IR.{Builder, Known}
  import Mote.Behaviour.IR.Builder, only: [emit: 2, fresh: 1, label: 1, place: 2, stop: 2]

  @doc "Goes to `no` unless the condition holds."
  def truthy(condition, no, g)

  def truthy({:lit, _, value}, no, g),
    do: if(value in [nil, false], do: stop(g, {:jump, no}), else: g)

  def truthy({:if, _, test, {:lit, _, false}, {:lit, _, true}}, no, g),
    do: opposite(g, no, &truthy(test, &1, &2))

  def truthy({:op, _, :not, [a]} = e, no, g) do
    if boolean?(a), do: opposite(g, no, &truthy(a, &1, &2)), else: plain(e, no, g)
  end

  def truthy({:and, _, a, b} = e, no, g) do
    if boolean?(a), do: truthy(b, no, truthy(a, no, g)), else: plain(e, no, g)
  end

  def truthy({:or, _, a, b} = e, no, g) do
    if boolean?(a),
      do: either(g, &truthy(a, &1, &2), &truthy(b, no, &1)),
      else: plain(e, no, g)
  end

  def truthy({:both, _, a, b}, no, g), do: truthy(b, no, truthy(a, no, g))

  def truthy({:either, _, a, b}, no, g),
    do: either(g, &truthy(a, &1, &2), &truthy(b, no, &1))

  def truthy({:op, _, primitive, [a, b]} = e, no, g) do
    if exact?(primitive, a, b) do
      {[a, b], g} = IR.operands([a, b], g)
      emit(g, {:match, a, b, no})
    else
      plain(e, no, g)
    end
  end

  def truthy({:holds, _, e}, no, g), do: holds(e, no, no, g)
  def truthy(e, no, g), do: plain(e, no, g)

  defp plain(e, no, g) do
    {o, g} = IR.gen(e, :any, g)
    emit(g, if(boolean?(e), do: {:branch, o, no}, else: {:falsy, o, no}))
  end

  @doc "Goes to `no` unless the value is true, to `undefined` where it is `:undefined`."
  def holds({:ordered, _, primitive, es}, no, undefined, g) do
    {os, g} = IR.operands(es, g)
    compared(primitive, os, no, undefined, g)
  end

  def holds({tag, _, a, b} = e, no, undefined, g) when tag in [:and, :or] do
    cond do
      not answer?(a) -> by_answer(e, no, undefined, g)
      tag == :and -> holds(b, no, undefined, holds(a, no, undefined, g))
      true -> either(g, &holds(a, &1, undefined, &2), &holds(b, no, undefined, &1))
    end
  end

  def holds({:op, _, :not, [a]} = e, no, undefined, g) do
    if answer?(a),
      do: opposite(g, no, &holds(a, &1, undefined, &2)),
      else: by_answer(e, no, undefined, g)
  end

  def holds(e, no, undefined, g),
    do: if(boolean?(e), do: truthy(e, no, g), else: by_answer(e, no, undefined, g))

  defp by_answer(e, no, undefined, g) do
    {o, g} = IR.gen(e, :any, g)
    g = defined(o, undefined, g)
    emit(g, {if(answer?(e), do: :branch, else: :falsy), o, no})
  end

  defp compared(primitive, os, no, undefined, g) do
    {o, g} = comparison(primitive, os, undefined, g)
    emit(g, {:branch, o, no})
  end

  # The answer of a comparison; goes to `undefined` where there is none.
  defp comparison(primitive, os, undefined, g) do
    g = Enum.reduce(os, g, &defined(&1, undefined, &2))

    case Known.answer(g.known, primitive, os) do
      nil ->
        {d, g} = fresh(g)
        {{:r, d}, emit(g, {:op, d, primitive, os})}

      o ->
        {o, g}
    end
  end

  @doc "Goes to `undefined` where an operand is `:undefined`: one test, and none where it is known."
  def defined({:k, :undefined}, undefined, g), do: stop(g, {:jump, undefined})

  def defined(o, undefined, g) do
    if Known.defined?(g.known, o) do
      g
    else
      {yes, g} = label(g)
      g = g |> emit({:match, o, {:k, :undefined}, yes}) |> stop({:jump, undefined})
      g = place(yes, g)
      %{g | known: Known.defined(g.known, o)}
    end
  end

  @doc "Returns whether the value of an expression is `true`, `false` or `:undefined`; in a guard, where it has none instead, it fails."
  def answer?({:ordered, _, _, _}), do: true
  def answer?({:op, _, primitive, _}) when primitive in [:not, :member, :map_has_key], do: true
  def answer?({tag, _, a, b}) when tag in [:and, :or], do: answer?(a) and answer?(b)
  def answer?(e), do: boolean?(e)

  defp opposite(g, no, test) do
    {yes, g} = label(g)
    g = test.(yes, g)
    place(yes, stop(g, {:jump, no}))
  end

  defp either(g, first, second) do
    {otherwise, g} = label(g)
    {yes, g} = label(g)
    g = first.(otherwise, g)
    g = place(otherwise, stop(g, {:jump, yes}))
    place(yes, second.(g))
  end

  @doc "Returns whether the value of an expression is `true` or `false`, whatever the operands are."
  def boolean?({:lit, _, value}), do: is_boolean(value)
  def boolean?({:op, _, :not, [a]}), do: boolean?(a)
  def boolean?({:op, _, :member, [_, {:lit, _, list}]}), do: proper?(list)
  def boolean?({:op, _, primitive, _}), do: Primitives.boolean?(primitive)
  def boolean?({:must, _, {_, _, primitive}, _}) when primitive in [:not, :member, :map_has_key], do: true
  def boolean?({tag, _, a, b}) when tag in [:and, :or], do: boolean?(a) and boolean?(b)
  def boolean?({:if, _, _, a, b}), do: boolean?(a) and boolean?(b)
  def boolean?({:case, _, _, [{:clause, _, {:bind, _, _}, [], body}], _}), do: boolean?(body)
  def boolean?(_), do: false

  defp proper?(list) when length(list) >= 0, do: true
  defp proper?(_), do: false

  # `match` is one instruction where a comparison and a branch are two. For `==` it will do when one side is
  # certain to be no number.
  defp exact?(:same, _, _), do: true
  defp exact?(:eq, a, b), do: no_number?(a) or no_number?(b)
  defp exact?(_, _, _), do: false

  defp no_number?({:lit, _, value}), do: is_atom(value) or is_binary(value) or value == []
  defp no_number?(_), do: false

  # -- guards --------------------------------------------------------------------------------------------------

  @doc "Goes to `fail` unless one of the guards succeeds; without guards there is nothing to do."
  def guards([], _, g), do: g
  def guards([guard], fail, g), do: guard(guard, fail, fail, g)

  def guards([guard | others], fail, g) do
    {yes, g} = label(g)
    {next, g} = label(g)
    g = guard(guard, next, next, g)
    g = place(next, stop(g, {:jump, yes}))
    place(yes, guards(others, fail, g))
  end

  # Goes to `no` when the guard is false, to `fail` when it has no answer or is no boolean.
  defp guard({:lit, _, true}, _, _, g), do: g
  defp guard({:lit, _, false}, no, _, g), do: stop(g, {:jump, no})
  defp guard({:lit, _, _}, _, fail, g), do: stop(g, {:jump, fail})

  defp guard({:and, _, a, b} = e, no, fail, g) do
    if no == fail or answer?(a),
      do: guard(b, no, fail, guard(a, no, fail, g)),
      else: by_value(e, no, fail, g)
  end

  defp guard({:or, _, a, b} = e, no, fail, g) do
    if answer?(a),
      do: either(g, &guard(a, &1, fail, &2), &guard(b, no, fail, &1)),
      else: by_value(e, no, fail, g)
  end

  defp guard({:op, _, :not, [a]} = e, no, fail, g) do
    if answer?(a),
      do: opposite(g, no, &guard(a, &1, fail, &2)),
      else: by_value(e, no, fail, g)
  end

  defp guard({:op, _, primitive, [a, b]} = e, no, fail, g) do
    if exact?(primitive, a, b) do
      {[a, b], g} = values([a, b], fail, g)
      emit(g, {:match, a, b, no})
    else
      by_value(e, no, fail, g)
    end
  end

  defp guard({:ordered, _, primitive, es}, no, fail, g) do
    {os, g} = values(es, fail, g)
    compared(primitive, os, no, fail, g)
  end

  defp guard(e, no, fail, g), do: by_value(e, no, fail, g)

  defp by_value(e, no, fail, g) do
    {o, g} = value(e, fail, g)

    if no == fail or answer?(e) do
      emit(g, {:branch, o, no})
    else
      either(
        g,
        fn otherwise, g -> emit(g, {:match, o, {:k, true}, otherwise}) end,
        fn g -> stop(emit(g, {:match, o, {:k, false}, fail}), {:jump, no}) end
      )
    end
  end

  defp values(es, fail, g), do: Enum.map_reduce(es, g, &value(&1, fail, &2))

  defp value({:op, line, primitive, es}, fail, g) do
    {os, g} = values(es, fail, g)
    g = Builder.at(g, line)

    case Known.answer(g.known, primitive, os) do
      nil ->
        {d, g} = fresh(g)

        instruction =
          if Primitives.always?(primitive),
            do: {:op, d, primitive, os},
            else: {:guard_op, d, primitive, os, fail}

        {{:r, d}, emit(g, instruction)}

      o ->
        {o, g}
    end
  end

  defp value({:ordered, line, primitive, es}, fail, g) do
    {os, g} = values(es, fail, g)
    g = Builder.at(g, line)
    comparison(primitive, os, fail, g)
  end

  defp value({:tuple, _, es}, fail, g) do
    {os, g} = values(es, fail, g)
    {d, g} = fresh(g)
    {{:r, d}, emit(g, {:tuple, d, os})}
  end

  defp value({:cons, _, h, t}, fail, g) do
    {[h, t], g} = values([h, t], fail, g)
    {d, g} = fresh(g)
    {{:r, d}, emit(g, {:cons, d, h, t})}
  end

  defp value({:and, _, a, b}, fail, g), do: strict(a, b, {true, false}, fail, g)
  defp value({:or, _, a, b}, fail, g), do: strict(a, b, {false, true}, fail, g)
  defp value(e, _, g), do: IR.gen(e, :any, g)

  # The left operand decides: with `go_on` the value is that of the right one, with `decided` its own.
  defp strict(a, b, {go_on, decided}, fail, g) do
    {o, g} = value(a, fail, g)
    {d, g} = fresh(g)
    {otherwise, g} = label(g)
    {last, g} = label(g)
    g = emit(g, {:match, o, {:k, go_on}, otherwise})
    {right, g} = value(b, fail, g)
    g = g |> emit({:move, d, right}) |> stop({:jump, last})
    g = place(otherwise, g)
    g = g |> emit({:match, o, {:k, decided}, fail}) |> emit({:move, d, {:k, decided}})
    {{:r, d}, place(last, g)}
  end
end
