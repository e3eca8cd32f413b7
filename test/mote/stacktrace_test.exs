defmodule Mote.StacktraceTest do
  # Where a defpure function that plain Elixir calls fails.
  use ExUnit.Case, async: true

  defmodule Halves do
    use Mote.Behaviour
    @first_line __ENV__.line
    def first_line, do: @first_line
    defpure half(n), do: div(n, 2)
    defpure halves(list, n), do: {for(n <- list, do: half(n)), half(n)}
    defpure read(text), do: {String.to_integer(text)}
    defpure refused(n), do: {abort(n)}
    defpure area({:square, a}), do: a * a
  end

  # Of the line that failed first, and none of Mote's own.
  test "in plain Elixir the stacktrace leads to the function and its line" do
    for {call, line, function, exception} <- [
          {fn -> Halves.half(:a) end, 3, :half, ArithmeticError},
          {fn -> Halves.halves([], :end) end, 3, :half, ArithmeticError},
          {fn -> Halves.read("x") end, 5, :read, ArgumentError},
          {fn -> Halves.refused(1) end, 6, :refused, Mote.Abort},
          {fn -> Halves.area(:round) end, 7, :area, FunctionClauseError}
        ] do
      {error, stacktrace} =
        try do
          call.()
        rescue
          error -> {error, __STACKTRACE__}
        end

      assert error.__struct__ == exception
      # Above it there is at most the operation of the BEAM.
      assert [{Halves, ^function, _, place} | _] =
               Enum.drop_while(stacktrace, &(elem(&1, 0) in [:erlang, Mote.Behaviour.Beam]))

      assert place[:line] == Halves.first_line() + line - 1
      assert to_string(place[:file]) =~ "stacktrace_test.exs"

      assert Enum.all?(stacktrace, fn {module, _, _, _} ->
               inspect(module) not in ["Mote.Turn", "Mote.Turn.Stage"]
             end)
    end

    {_, stacktrace} =
      try do
        Halves.halves([1], :end)
      rescue
        error -> {error, __STACKTRACE__}
      end

    assert [{:erlang, :div, _, _}, {Halves, :half, 1, _}, {Halves, :halves, 2, _} | _] = stacktrace
  end
end
