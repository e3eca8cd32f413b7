defmodule Mote.RaisedLibraryTest do
  # Where a function of the library fails, its caller is told of: with the line, the function and its arguments, as users wrote them.
  use ExUnit.Case, async: true

  import Mote.Eventually

  alias Mote.{Compile, Error, Raised}

  @moduletag capture_log: true

  @line __ENV__.line
  defmodule Reader do
    use Mote.Behaviour

    defactor reader() do
      {customer, {:sum, a, b}} -> send(customer, number(a) + String.to_integer(b))
      {customer, {:part, text, from, to}} -> send(customer, String.slice(text, from..to))
      {customer, {:most, list}} -> send(customer, Enum.max_by(list, & &1))
      {customer, {:all, list}} -> send(customer, Enum.flat_map(list, & &1))
      {customer, {:first, list}} -> send(customer, Enum.map(list, fn {a, _} -> a end))
      {customer, {:else, x}} -> send(customer, with({:ok, y} <- x, do: y, else: (:error -> nil)))
      {customer, {:largest, list}} -> send(customer, Enum.max(list, &>=/2))
    end

    # Neither is the last call of its function: who called it has to be known.
    defpure number(text), do: 2 * String.to_integer(text)
  end

  for tier <- [:native, :interp] do
    test "is told by what was called, where it was called (#{tier})" do
      machine = start_supervised!({Mote, tier: unquote(tier)})
      reader = Mote.create(machine, Reader.reader())
      # Until it is native.
      for _ <- 1..200, do: Mote.ask!(reader, {:sum, "1", "2"})
      eventually(fn -> Mote.info(machine).native.pending == 0 end)

      for {question, line, operation, arguments, message} <- [
            {{:sum, "1", "4x"}, 5, {String, :to_integer}, {"4x"},
             ~r/\(ArgumentError\) raised_library_test.exs:\d+: .*: String.to_integer\("4x"\)$/},
            {{:sum, "4x", "1"}, 15, {String, :to_integer}, {"4x"}, ~r/String.to_integer\("4x"\)$/},
            {{:part, :text, 1, 2}, 6, {String, :slice_range}, {:text, 1, 2}, ~r/String.slice\(:text, 1..2/},
            {{:most, []}, 7, {:function_clause, {Enum, :max_by}, 2}, {[]}, ~r/Enum.EmptyError.*Enum.max_by/},
            {{:all, [[1], 2]}, 8, {Enum, :concat_all}, {[2, [1]], []},
             ~r/Protocol.UndefinedError.*Enum.concat\(\[\[1\], 2\]\)/},
            {{:first, [1]}, 9, {:function_clause, :"-reader/0-fun-0-", 1}, {1},
             ~r/in anonymous fn\/1 in Mote.RaisedLibraryTest.Reader.reader\/0: \(1\)$/},
            {{:else, 1}, 10, :with_clause, {1}, ~r/WithClauseError.*: no with clause matching: 1$/},
            {{:largest, []}, 11, {:function_clause, {Enum, :max}, 2}, {[]}, ~r/Enum.EmptyError.*Enum.max\/2/}
          ] do
        assert {:error, %Error{reason: :aborted} = error} = Mote.ask(reader, question)
        assert {:raised, {Reader, at, ^operation}, ^arguments} = reason = error.context.reason
        assert at == @line + line
        assert Raised.format(error.context.reason) =~ message
        assert {:abort, ^reason} = Mote.Interpret.turn(Reader.reader(), {:customer, question}).outcome

        # Elixir raises the same, at the same line.
        assert {:abort, {:raised, {Reader, ^at, _}, _} = plain} =
                 Mote.Behaviour.turn(Reader.reader(), {:customer, question}).outcome

        assert Raised.exception(plain).__struct__ == Raised.exception(reason).__struct__
      end
    end
  end

  test "is asked of integers, which take no time" do
    for {name, arguments, exception} <- [
          {:mod, {10_000, 0}, ArithmeticError},
          {:floor_div, {2 ** 64, 0}, ArithmeticError},
          {:pow, {10_000, -1}, ArithmeticError},
          {:pow, {2, 2 ** 64}, SystemLimitError},
          {:parse, {String.duplicate("z", 210_000), 36}, SystemLimitError},
          {:parse, {String.duplicate("7", 400_000)}, SystemLimitError},
          {:parse, {"7", 37}, ArgumentError},
          {:undigits, {List.duplicate(1, 1_100_000), 2}, SystemLimitError},
          {:undigits, {[1, 2], 2}, ArgumentError},
          {:undigits, {List.duplicate(1, 20) ++ [2], 2}, ArgumentError},
          {:undigits, {List.duplicate(1, 20) ++ [:a], 2}, FunctionClauseError},
          {:undigits, {[1 | 2], 2}, FunctionClauseError},
          # Put together, they would take minutes.
          {:undigits, {List.duplicate(1, 20), 3 ** 600_000}, SystemLimitError},
          {:mod, {2 ** 2_000_000, 0}, FunctionClauseError}
        ] do
      raised = Raised.exception({:raised, {Reader, 7, {Integer, name}}, arguments})
      assert {name, raised.__struct__} == {name, exception}
    end
  end

  # Calls that fail for the value beside them, some of them large, and what Elixir's own compiler makes of them.
  numbers = Enum.to_list(1..200)
  keywords = for n <- 1..60, do: {:"k#{n}", n}

  @calls [
           {"Enum.fetch!(x, 500)", numbers},
           {"Enum.fetch!(x, 1_000_000)", Macro.escape(1..5_000)},
           {"Enum.sum(x)", numbers ++ [:a]},
           {"Enum.concat(x)", [numbers, 5_000]},
           {"Keyword.fetch!(x, :a)", keywords},
           {"Keyword.update!(x, :a, & &1)", keywords},
           {"Keyword.replace!(x, :a, 1)", keywords},
           {"Map.pop!(x, 4_000)", {:%{}, [], Enum.map(numbers, &{&1, &1})}},
           {"update_in(x.a, &(&1 + 1))", 3},
           {"put_in(x.a.b, 1)", {:%{}, [], [a: 3]}},
           {"for(<<c <- x>>, do: c)", 3},
           {"for(<<c <- x>>, into: \"\", do: <<c + 1>>)", 3},
           {"String.duplicate(x, 3)", 5},
           {"String.duplicate(x, 3_000_000)", 5},
           {"String.pad_leading(x, 3_000_000)", 5},
           {"String.to_integer(x, 16)", 5},
           {"String.to_float(x)", 5},
           {"Tuple.duplicate(1, x)", :a},
           {"Tuple.insert_at(x, 5_000, 1)", 5},
           {"MapSet.new(x)", 1_234_567}
         ] ++
           for(x <- [5, nil, :a, String.duplicate("é", 900)], do: {"String.to_integer(x)", x}) ++
           for(
             call <- [
               "count(x)",
               "sort(x)",
               "at(x, 1)",
               "max(x)",
               "zip(x, [1])",
               "zip([1], x)",
               "into(x, [])",
               "into([1], x)",
               "join(x)",
               "frequencies(x)",
               "slice(x, 1, 2)",
               "slice(x, 1..200_000)",
               "take(x, 3)",
               "empty?(x)",
               "chunk_every(x, 2)"
             ],
             do: {"Enum." <> call, 1_234_567}
           )

  test "raises what Elixir raises, whatever size the arguments have" do
    functions = fn kind ->
      for {{call, _}, n} <- Enum.with_index(@calls), into: "", do: "#{kind} f#{n}(x), do: #{call}\n"
    end

    [{elixir, _}] =
      Compile.quietly("defmodule #{inspect(__MODULE__.Plain)} do\n#{functions.("def")}\nend", "test.ex")

    mote = Compile.module(functions.("defpure"), "", :abort)
    machine = start_supervised!(Mote)

    for {{call, quoted}, n} <- Enum.with_index(@calls) do
      {x, []} = Code.eval_quoted(quoted)
      %expected{} = raised(fn -> apply(elixir, :"f#{n}", [x]) end)
      assert {call, raised(fn -> apply(mote, :"f#{n}", [x]) end).__struct__} == {call, expected}
      future = Mote.Future.future(Function.capture(mote, :"f#{n}", 1), [x], machine: machine)
      assert %Error{context: %{reason: reason}} = raised(fn -> Mote.Future.touch(future) end)
      assert {call, Raised.exception(reason).__struct__} == {call, expected}
    end

    for module <- [elixir, mote], do: Compile.purge(module)
  end

  defp raised(fun) do
    fun.()
    :nothing
  rescue
    exception -> exception
  end

  test "a reason that somebody has made up calls nothing that a machine does not have" do
    for {module, name, arguments} <- [
          {Process, :put, {:forged, true}},
          {Kernel, :apply, {Process, :put, [:forged, true]}},
          {:erlang, :exit, {self(), :normal, :more}},
          {URI, :default_port, {"forged", 7}},
          {Calendar, :put_time_zone_database, {Calendar.UTCOnlyTimeZoneDatabase}}
        ] do
      text = Raised.format({:raised, {Reader, 7, {module, name}}, arguments})
      assert text =~ "(FunctionClauseError) raised_library_test.exs:7: no function clause matching in"
      refute Process.get(:forged)
      refute URI.default_port("forged")
    end
  end

  test "is asked of an index" do
    reason = {:raised, {Reader, 7, {Enum, :fetch!}}, {[1], 5_000}}
    assert %Enum.OutOfBoundsError{} = Raised.exception(reason)
    assert Raised.format(reason) =~ "Enum.fetch!([1], 5000)"
  end

  test "is not asked for what would take long" do
    long = String.duplicate("x", 100_000)
    # Of sixty cells, and without end when it is written out.
    shared = Enum.reduce(1..60, [], fn _, list -> [list, list] end)

    for reason <- [
          {:raised, {Reader, 7, {String, :to_integer}}, {long}},
          {:raised, {Reader, 7, {Enum, :sum}}, {shared}},
          {:raised, {Reader, 7, {Enum, :sum}}, {%{a: {shared}}}},
          {:raised, {Reader, 7, {Enum, :at}}, {%Range{first: 1, last: 100_000, step: 1}, :a}},
          {:raised, {Reader, 7, {List, :duplicate}}, {[], 100_000_000_000}},
          {:raised, {Reader, 7, {Enum, :no_such_function}}, {1, 2}}
        ] do
      {:raised, {_, _, {module, name}}, arguments} = reason
      arity = tuple_size(arguments)

      assert %FunctionClauseError{module: ^module, function: ^name, arity: ^arity} = Raised.exception(reason)
    end

    # What Elixir takes, and Mote does not.
    assert %ArgumentError{message: "String.upcase(\"ä\") has no answer in a machine"} =
             Raised.exception({:raised, {Reader, 7, {String, :upcase}}, {"ä"}})
  end

  # Elixir would go through such a range for ever.
  test "a slice by a range whose bounds are no integers" do
    for {library, source} <- [{Enum, 1..100}, {Enum, [1]}, {String, "text"}],
        bounds <- [{0, 1.5}, {:a, 1}, {0, 1.5, 1}] do
      arguments = Tuple.insert_at(bounds, 0, source)
      raised = Mote.Raised.exception({:raised, {__MODULE__, 1, {library, :slice_range}}, arguments})
      # Which exception it is depends on the release.
      expected = no_range(Tuple.to_list(bounds))
      assert raised.__struct__ == expected.__struct__
      assert Exception.message(raised) == Exception.message(expected)
    end
  end

  defp no_range(bounds) do
    apply(Range, :new, bounds)
  rescue
    exception -> exception
  end
end
