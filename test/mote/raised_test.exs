defmodule Mote.RaisedTest do
  # What would raise aborts the turn, in both forms, with the exception of Elixir.
  use ExUnit.Case, async: true
  use ExUnitProperties

  import Mote.Compile, only: [eval: 3, module: 3, purge: 1]

  alias Mote.{Error, Future, Raised}

  doctest Raised

  @moduletag capture_log: true

  defmodule Actors do
    use Mote.Behaviour

    defactor account(balance) do
      {customer, {:pay, price}} ->
        if balance - price >= 0 do
          send customer, :granted
          become account(balance - price)
        else
          send customer, :refused
        end

      {customer, :balance} ->
        send customer, balance
    end

    defactor clock(), do: ({customer, ms} -> send(customer, send_after(ms, self(), :tick)))

    defpure first(list), do: hd(list)

    defactor walker() do
      {customer, {:all, collection}} -> send(customer, Enum.reduce(collection, 0, &(&1 + &2)))
      {customer, {:new, collection}} -> send(customer, Map.new(collection))
      {customer, {:text, collection}} -> send(customer, to_string(collection))
      {customer, :ping} -> send(customer, :pong)
    end

    defactor holder(state) do
      {customer, :field} -> send(customer, state.total)
      {customer, {:fetch!, key}} -> send(customer, Map.fetch!(state, key))
      {customer, {:replace, key}} -> send(customer, %{state | key => 1})
      {customer, {:update!, key}} -> send(customer, Map.update!(state, key, & &1))
      {customer, {:pop!, key}} -> send(customer, Map.pop!(state, key))
      {customer, :text} -> send(customer, "#{state}")
      {customer, {:elem, at}} -> send(customer, elem(state, at))
      {customer, :head} -> send(customer, hd(state))
      {customer, {:put, value}} -> send(customer, put(state, value))
    end

    defpure put({_, _, state}, value) when is_map(value), do: Map.merge(state, value)
  end

  defmodule Careless do
    use Mote.Behaviour, errors: :undefined
    defactor account(balance), do: ({customer, price} -> send(customer, balance - price))
    defactor sorter(), do: ({customer, list} -> send(customer, Enum.sort(list, :desc)))
    defactor keysorter(), do: ({customer, list} -> send(customer, List.keysort(list, 0, :desc)))
  end

  describe "a turn" do
    setup do
      %{machine: start_supervised!(Mote)}
    end

    test "that would raise is aborted, and whoever asked hears why", %{machine: machine} do
      account = Mote.create(machine, Actors.account(10))
      assert {:error, %Error{reason: :aborted} = error} = Mote.ask(account, {:pay, :apples})
      assert error.context.reason == {:raised, {Actors, 19, :sub}, {10, :apples}}

      assert error.message =~
               "** (ArithmeticError) raised_test.exs:19: bad argument in arithmetic expression: 10 - :apples"

      assert Mote.ask!(account, {:pay, 4}) == :granted
      assert Mote.ask!(account, :balance) == 6
      assert %{aborts_raised: 1, aborts_match: 0} = Mote.info(machine).counters
    end

    test "is told in telemetry as in the plain form", %{machine: machine} do
      test = self()
      id = make_ref()
      told = fn _, _, metadata, _ -> send(test, {:told, metadata.reason}) end
      :telemetry.attach(id, [:mote, :turn, :abort], told, nil)
      reason = {:raised, {Actors, 19, :sub}, {10, {}}}
      assert Mote.Behaviour.turn(Actors.account(10), {self(), {:pay, {}}}).outcome == {:abort, reason}
      Mote.send(Mote.create(machine, Actors.account(10)), {self(), {:pay, {}}})
      assert_receive {:told, ^reason}
      :telemetry.detach(id)
    end

    test "is shown in a trace as Elixir would say it", %{machine: machine} do
      account = Mote.create(machine, Actors.account(10))
      :ok = Mote.pause(machine)
      :ok = Mote.send(account, {self(), {:pay, :apples}})
      {:ok, turn} = Mote.step(machine)
      assert Mote.Trace.format(turn) =~ ": aborted, ** (ArithmeticError) raised_test.exs:19: "
    end

    test "of errors: :undefined goes on", %{machine: machine} do
      assert Mote.ask!(Mote.create(machine, Careless.account(10)), :apples) == :undefined
      assert [{_, :undefined}] = Mote.Behaviour.turn(Careless.account(1), {self(), :a}).sends
    end

    test "of errors: :undefined does not sort for ever what is no list", %{machine: machine} do
      for {sorter, odd} <- [{Careless.sorter(), 5}, {Careless.keysorter(), [{1} | 2]}] do
        assert {:abort, reason} = Mote.Interpret.turn(sorter, {self(), odd}).outcome
        assert {:error, %Error{reason: :aborted} = error} = Mote.ask(Mote.create(machine, sorter), odd)
        assert error.context.reason == reason
      end
    end

    test "arms no timer for what is no time", %{machine: machine} do
      clock = Mote.create(machine, Actors.clock())
      for ms <- [-1, 1.0, :soon], do: assert({:error, %Error{reason: :aborted}} = Mote.ask(clock, ms))
      assert {:ok, %Mote.Timer{}} = Mote.ask(clock, 100_000)

      # No longer than what Mote.send_after/3 takes.
      for ms <- [:soon, -1, 2 ** 48, 2 ** 80] do
        assert {:abort, {:raised, {_, _, :send_after}, {^ms}}} =
                 Mote.Interpret.turn(Actors.clock(), {self(), ms}).outcome

        assert {:abort, {:raised, {_, _, %ArgumentError{}}, {}}} =
                 Mote.Behaviour.turn(Actors.clock(), {self(), ms}).outcome
      end

      assert Mote.Behaviour.turn(Actors.clock(), {self(), 2 ** 48 - 1}).outcome == :commit
    end

    # In a pipeline what it goes through stands lines above.
    test "is told at the line of the call that would raise" do
      for call <- ["Enum.map(& &1)", "Enum.sum()", "Enum.reverse()", "Enum.to_list()"] do
        module = module("defpure f(x) do\nx\n|> #{call}\n|> length()\nend", "", :abort)
        reason = Mote.Compile.reason(module, :f, [:a])
        assert {:raised, {^module, 4, _operation}, {:a}} = reason
      end
    end

    # The exception is made by the process of the machine and by whoever asked: neither may go through what has no end, nor
    # read a file.
    test "is told at once, whatever it was to go through", %{machine: machine} do
      endless = [
        1..0x3FFFFFFFFFFFFFFF,
        1..0x4000000000000000,
        IO.stream(:stdio, :line),
        File.stream!("/dev/zero", [], 1_000_000)
      ]

      walker = Mote.create(machine, Actors.walker())

      for collection <- endless, how <- [:all, :new, :text] do
        # What went through it would never answer.
        assert {:error, %Error{} = error} = Mote.ask(walker, {how, collection}, 60_000)
        assert error.reason == :aborted
        assert Mote.ask!(walker, :ping, 60_000) == :pong
      end

      assert Mote.info(machine).counters.aborts_match == 0
    end

    # The exception is worked out from as much of the arguments as was reported.
    test "is told with the exception that it has, whatever size the arguments have", %{machine: machine} do
      numbers = &Map.new(1..&1, fn n -> {n, n} end)
      users = &Map.new(1..&1, fn n -> {n, %{name: "user #{n}", tags: [n, {n}]}} end)
      numbered = Map.new(1..200, &{:"field_#{&1}", [&1]}) |> Map.put(:__struct__, __MODULE__)

      for state <- [
            numbers.(3),
            numbers.(60),
            numbers.(300),
            users.(40),
            users.(300),
            numbered,
            MapSet.new(1..300)
          ],
          question <- [:field, {:fetch!, :name}, {:replace, {:a, 1}}, {:update!, "name"}, {:pop!, 4_000}] do
        key = if question == :field, do: :total, else: elem(question, 1)
        assert %KeyError{key: ^key, term: term} = reported(machine, state, question)
        # Of a struct that is replaced or fetched from, Elixir names no term.
        assert term == nil or (is_map(term) and map_size(term) > 0 and map_size(term) <= map_size(state))
      end

      assert %KeyError{term: term} = reported(machine, users.(300), {:fetch!, :nobody})
      assert {term[1], term[:...]} == {%{name: "user 1", tags: [1, {1}]}, :...}

      assert %Protocol.UndefinedError{protocol: String.Chars, value: %{}} =
               reported(machine, numbers.(200), :text)

      tuple = List.to_tuple(Enum.to_list(1..300))
      assert %ArgumentError{message: text} = reported(machine, tuple, {:elem, 400})
      assert text =~ "out of range"
      assert %ArgumentError{message: text} = reported(machine, tuple, :head)
      assert text =~ "not a nonempty list"

      # Small ones stay as they are, and stand where they stood.
      for state <- [{numbers.(300), {1, [2]}, users.(300)}, {users.(300), {1, [2]}, Enum.to_list(1..300)}] do
        assert {:raised, _, {{{first, {1, [2]}, last}, {"v", 1.5}}}} =
                 reason(machine, state, {:put, {"v", 1.5}})

        assert {is_map(first), is_map(last), is_list(last)} ==
                 {true, is_map(elem(state, 2)), is_list(elem(state, 2))}
      end
    end

    defp reason(machine, state, question) do
      assert {:error, %Error{reason: :aborted} = error} =
               Mote.ask(Mote.create(machine, Actors.holder(state)), question)

      assert error.message =~ inspect(Raised.exception(error.context.reason).__struct__)
      # Not more than somebody reads.
      assert error.context.reason |> :erlang.term_to_binary() |> byte_size() < 10_000
      error.context.reason
    end

    defp reported(machine, state, question), do: machine |> reason(state, question) |> Raised.exception()

    test "of a future says so, and a function raises in plain Elixir", %{machine: machine} do
      future = Future.future(&Actors.first/1, [[]], machine: machine)
      error = assert_raise Error, fn -> Future.touch(future) end
      assert error.message =~ ~r/ArgumentError\) raised_test.exs:32: .*: hd\(\[\]\)/
      assert_raise ArgumentError, fn -> Actors.first([]) end
      assert Actors.first([1]) == 1
    end
  end

  describe "what no clause fits" do
    test "is told as Elixir does, with its line" do
      reason = fn expression, x ->
        module = module("defpure f(x) do\n_ = x\n#{expression}\nend", "", :abort)
        reason = Mote.Compile.reason(module, :f, [x])
        assert Raised.exception(reason) == Exception.normalize(:error, catch_error(module.f(x)))
        assert {:raised, {^module, 4, _}, _} = reason
        {Raised.exception(reason), reason |> Raised.format() |> String.replace(inspect(module), "M")}
      end

      assert reason.("{:ok, y} = x\ny", :error) ==
               {%MatchError{term: :error},
                "** (MatchError) test.ex:4: no match of right hand side value: :error"}

      assert reason.("case x do 1 -> 2; {_, _} -> 3 end", {1}) ==
               {%CaseClauseError{term: {1}}, "** (CaseClauseError) test.ex:4: no case clause matching: {1}"}

      assert reason.("cond do x == 1 -> 2; x == 2 -> 3 end", 3) ==
               {%CondClauseError{},
                "** (CondClauseError) test.ex:4: no cond clause evaluated to a truthy value"}
    end

    test "of a function as well" do
      module = module("defpure f(1, _), do: 2\ndefpure f(2, y), do: y", "", :abort)
      reason = Mote.Compile.reason(module, :f, [3, [4]])
      assert reason == {:raised, {module, 2, {:function_clause, :f, 2}}, {{3, [4]}}}
      assert :function_clause = catch_error(module.f(3, 4))

      assert Raised.format(reason) |> String.replace(inspect(module), "M") ==
               "** (FunctionClauseError) test.ex:2: no function clause matching in M.f/2: f(3, [4])"
    end
  end

  # Expressions of x and y, each of which may raise, and what Elixir does with them.
  @expressions [
    "x + y",
    "x - y",
    "x * y",
    "x / y",
    "-x",
    "+x",
    "abs(x)",
    "div(x, y)",
    "rem(x, y)",
    "Bitwise.band(x, y)",
    "Bitwise.bnot(x)",
    "hd(x)",
    "tl(x)",
    "length(x)",
    "tuple_size(x)",
    "elem(x, y)",
    "put_elem(x, y, 1)",
    "x ++ y",
    "x -- y",
    "Enum.reverse(x)",
    "round(x)",
    "byte_size(x)",
    "bit_size(x)",
    "map_size(x)",
    "Map.get(x, y)",
    "Map.fetch(x, y)",
    "Map.fetch!(x, y)",
    "Map.put(x, y, 1)",
    "Map.put_new(x, y, 1)",
    "Map.update(x, y, 1, &(&1 + 1))",
    "Map.update!(x, y, &(&1 + 1))",
    "Map.delete(x, y)",
    "Map.keys(x)",
    "Map.merge(x, y)",
    "%{x | y => 1}",
    "x.a",
    "not x",
    "x and y",
    "x or y",
    "if x and true, do: 1, else: 2",
    "if not x, do: 1, else: 2",
    "if x > 1 and y < 2, do: 1, else: 2",
    "Enum.sum(x)",
    "Enum.map(x, &(&1 + y))",
    "for a <- x, do: {a, y}",
    "for a <- x, a > 1, b <- y, do: {a, b}",
    "for a <- x, reduce: 0 do acc -> acc + a end",
    "for <<a <- x>>, do: a + y",
    "Enum.sum(x..y//1)",
    "Enum.sum(1..y//1) + Enum.sum(x..3//1)",
    "x in y",
    "x <> y",
    "<<x::binary, y>>",
    "Tuple.to_list(x)",
    "List.to_tuple(x)",
    "x && y + 1",
    "x || y + 1",
    "[x + 1 | y]",
    "{x + 1, y}",
    "(fine = x; _ = fine + y; fine)",
    "case x + 1 do 2 -> y * 2; _ -> y end",
    "cond do x + 1 > y -> 1; true -> hd(y) end",
    "case x do 1 -> y; [a | _] -> a end",
    "case {x, y} do {1, a} -> a; {a, 1} when a > 1 -> a end",
    "cond do x == 1 -> y; y == :a -> x end",
    "(1 = x; y)",
    "({a, [b]} = {x, y}; {b, a})",
    "(%{a: a} = x; a)",
    "for {a} <- [x], {1, ^a} = {y, a}, do: a",
    "Enum.map([x], fn 1 -> y; true -> 2 end)",
    "(fn a when is_atom(a) -> y; 1 -> 2 end).(x)",
    "with {a} <- x, do: a, else: (true -> y; 1 -> 2)"
  ]

  defp argument do
    one_of([
      integer(-3..3),
      float(min: -4.0, max: 4.0),
      boolean(),
      member_of([nil, :a, [], {}, %{}, "", "ab", %{a: 1}, {1, 2}, [1 | 2]]),
      list_of(integer(-2..2), max_length: 3),
      map_of(member_of([:a, 1]), integer(0..3), max_length: 2)
    ])
  end

  # Whether it raises, and what it is otherwise. Which exception it is has another name now and then, where Elixir's
  # function is made of others.
  defp of(fun) do
    {:value, fun.()}
  rescue
    _ -> :raises
  end

  property "every operation comes to what it does in Elixir, or aborts where Elixir raises" do
    check all(expression <- member_of(@expressions), x <- argument(), y <- argument(), max_runs: 150) do
      elixir = of(fn -> expression |> Code.eval_string(x: x, y: y) |> elem(0) end)

      case eval(expression, [x: x, y: y], :abort) do
        {:raised, %_{}} -> assert elixir == :raises
        {:aborted, _} -> assert elixir == :raises
        value -> assert {:value, value} == elixir
      end
    end
  end

  # The exception and its text, as far as that needs no stacktrace.
  defp told(%KeyError{} = exception), do: {KeyError, Exception.message(exception)}
  defp told(exception), do: exception.__struct__

  test "a field of what has none, and a part that a binary cannot have, are told as Elixir does" do
    values = [nil, 7, :none, true, %{}, %{b: 1}, [1], {}, "a", 1.5, -1]

    expressions =
      ["x.name", "x.name.first", "\"a\" <> x", "x <> \"a\"", "<<1, x>>", "<<1, 2, x::float>>", "<<x::utf8>>"] ++
        ["<<x::binary>>", "<<x::32-little, 1>>", "<<\"a\", x::binary-size(2)>>"]

    for {expression, n} <- Enum.with_index(expressions) do
      # Compiled, since what is evaluated raises otherwise on some releases.
      [{elixir, _}] =
        Code.compile_string("defmodule Mote.RaisedTest.E#{n} do\n  def f(x), do: #{expression}\nend")

      for value <- values do
        case eval(expression, [x: value], :abort) do
          {:raised, exception} ->
            raised = Exception.normalize(:error, catch_error(elixir.f(value)))
            assert {expression, told(exception)} == {expression, told(raised)}

          answer ->
            assert {expression, answer} == {expression, elixir.f(value)}
        end
      end
    end
  end

  test "what is told of a binary that was too much for a report needs none of its parts" do
    for arguments <- [{:..., :...}, {{1, :...}, {0, :...}}, {{:...}, {2}}, {{1, 2}, :...}, {{}, {16}}] do
      reason = {:raised, {__MODULE__, 1, :bin_of}, arguments}
      assert Raised.format(reason) =~ "(ArgumentError)"
    end
  end

  test "both are shown as they are written" do
    format = fn expression, x ->
      module = module("defpure f(x) do\n#{expression}\nend", "", :abort)
      reason = Mote.Compile.reason(module, :f, [x])
      Raised.format(reason)
    end

    # Until Elixir 1.20, and from there on.
    told =
      "KeyError\\) test.ex:3: key :name not found in: nil.*|BadMapError\\) test.ex:3: expected a map, got"

    assert format.("x.name", nil) =~ ~r/(#{told}): nil.name$/

    assert format.("\"a\" <> x", 7) =~
             ~r/: segment 2 of type 'binary': expected a binary but got: 7: <<"a", 7>>$/
  end

  # One module with all of them, for the machine.
  test "so it does on the machine" do
    functions =
      for {expression, n} <- Enum.with_index(@expressions),
          into: "",
          do: "defpure f#{n}(x, y) do _ = x; _ = y; #{expression} end\n"

    module = module(functions, "", :abort)
    machine = start_supervised!(Mote)

    for {_, n} <- Enum.with_index(@expressions),
        x <- [1, :a, [1, 2], {1}, %{a: 1}, true, "ab"],
        y <- [0, 1, :a, [], true, "b"] do
      function = Function.capture(module, :"f#{n}", 2)
      future = Future.future(function, [x, y], machine: machine)

      on_machine =
        try do
          {:value, Future.touch(future)}
        rescue
          error in Error -> {:raises, error.context.reason}
        end

      code =
        try do
          {:value, Mote.Interpret.call(module, :"f#{n}", [x, y])}
        rescue
          abort in Mote.Abort -> {:raises, abort.reason}
        end

      assert {Enum.at(@expressions, n), x, y, on_machine} == {Enum.at(@expressions, n), x, y, code}
    end

    purge(module)
  end
end
