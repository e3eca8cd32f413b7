defmodule Mote.Behaviour.EmittedTest do
  # What is known when a behaviour is compiled is not left for Elixir's and Erlang's compilers to find out: so there is less code
  # for them to go through.
  use ExUnit.Case, async: true

  alias Mote.Behaviour.Elixir.{Direct, Expressions, Guards, Match}

  @x {:x, 1}
  @y {:y, 2}
  @var {:var, 1, @x}

  defp clauses(pattern, subject, guards \\ []) do
    body = {:lit, 1, :body}

    [{:clause, 1, pattern, guards, body}]
    |> Enum.map(&Expressions.clause(&1, :staged))
    |> Match.clauses(Expressions.expr(subject, :staged), {:staged, :case_clause}, 1)
    |> Macro.to_string()
  end

  test "nothing stands behind a clause that always fits" do
    two = {:tuple, 1, [@var, {:var, 1, @y}]}
    both = {:tuple, 1, [{:bind, 1, @x}, {:any, 1}]}

    for {pattern, subject} <- [
          {{:any, 1}, @var},
          {{:bind, 1, @x}, @var},
          {{:all, 1, [{:bind, 1, @x}, {:any, 1}]}, @var},
          {both, two},
          {{:all, 1, [both, {:bind, 1, @x}]}, two}
        ] do
      refute clauses(pattern, subject) =~ "abort"
    end

    for {pattern, subject} <- [
          {{:lit, 1, 1}, @var},
          {{:pin, 1, @y}, @var},
          {both, @var},
          {{:tuple, 1, [{:any, 1}]}, two},
          {{:tuple, 1, [both, {:any, 1}]}, two},
          {{:tuple, 1, [{:lit, 1, 1}, {:any, 1}]}, two}
        ] do
      assert clauses(pattern, subject) =~ "abort"
    end

    assert clauses({:any, 1}, @var, [{:op, 1, :is_integer, [@var]}]) =~ "abort"
    assert clauses({:any, 1}, @var, [{:op, 1, :eq, [{:op, 1, :add, [@var, @var]}, @var]}]) =~ "abort"
  end

  test "nothing stands behind a condition that always holds" do
    always = {{:lit, 1, true}, {:lit, 1, :always}}
    refute {:cond, 1, [{@var, @var}, always]} |> Expressions.expr(:staged) |> Macro.to_string() =~ "abort"
    assert {:cond, 1, [always, {@var, @var}]} |> Expressions.expr(:staged) |> Macro.to_string() =~ "abort"
  end

  test "of integers that are written out only large ones are tested" do
    calculated = fn n ->
      Direct.op(:add, [@var, {:lit, 1, n}], [{:x, [], nil}, n], 1)
      |> Macro.to_string()
      |> String.split("is_integer")
    end

    assert length(calculated.(1)) == 2
    assert length(calculated.(2 ** 63)) == 3
  end

  test "a guard does not ask whether a number is undefined" do
    positive = {:ordered, 1, :gt, [@var, {:lit, 1, 0}]}
    asks? = &(&1 |> Guards.code() |> Macro.to_string() =~ ":undefined")

    refute asks?.({:and, 1, {:op, 1, :is_integer, [@var]}, positive})
    refute asks?.({:and, 1, {:and, 1, {:op, 1, :is_list, [@var]}, {:lit, 1, true}}, positive})
    assert asks?.(positive)
    assert asks?.({:and, 1, positive, {:op, 1, :is_integer, [@var]}})
    assert asks?.({:or, 1, {:op, 1, :is_integer, [@var]}, positive})
    assert asks?.({:and, 1, {:op, 1, :is_atom, [@var]}, positive})
    assert asks?.({:and, 1, {:op, 1, :is_integer, [{:var, 1, @y}]}, positive})
  end
end
