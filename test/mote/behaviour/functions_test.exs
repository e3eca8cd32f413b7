defmodule Mote.Behaviour.FunctionsTest do
  # Functions that are values: in plain Elixir, interpreted, as native code; in captures, messages and other machines; and what calls
  # of anything else come to.
  use ExUnit.Case, async: true

  alias Mote.Raised

  doctest Mote.Function

  defmodule Values do
    use Mote.Behaviour

    defpure twice(f, x), do: f.(f.(x))
    defpure adder(n), do: fn x -> x + n end
    defpure composed(f, g), do: &f.(g.(&1))
    defpurep add(a, b), do: a + b

    defpure in_variables(list, n) do
      f = adder(n)
      g = composed(f, &(&1 * 2))
      {Enum.map(list, g), twice(f, 1), Enum.filter(list, &(&1 > 1)), Enum.reduce(list, 0, &add/2)}
    end

    defpure in_terms(list) do
      {up, none, %{last: last}} = {&String.upcase/1, fn -> :none end, %{last: &List.last/1}}
      {up.("abc"), none.(), last.(list), Enum.map([up, &{&1}], fn f -> f.("x") end)}
    end

    defpure with_clauses(x) do
      f = fn
        {:ok, n} when is_integer(n) and n > 1 -> n
        [head | _] -> head
        %{a: a} = map when map_size(map) == 1 -> a
        _ -> :other
      end

      f.(x)
    end

    # Calls itself by what it is given: as a tail call, and not as one.
    defpure counted(n) do
      go = fn go, n, sum -> if n == 0, do: sum, else: go.(go, n - 1, sum + n) end
      go.(go, n, 0)
    end

    defpure nested(n) do
      go = fn go, n -> if n == 0, do: 0, else: 1 + go.(go, n - 1) end
      go.(go, n)
    end

    defpure tested(x), do: {is_function(x), is_function(x, 0), is_function(x, 1), is_function(x, 2)}
    defpure all_tested, do: {tested(fn -> 1 end), tested(&{&1}), tested(&add/2), tested(1), tested(nil)}
    defpure tested(x, n), do: is_function(x, n)
    defpure in_guard(f) when is_function(f, 1), do: f.(1)
    defpure in_guard(f) when is_function(f), do: :another
    defpure in_guard(_), do: :none
    defpure guarded, do: {in_guard(&{&1}), in_guard(fn -> 1 end), in_guard(1)}

    defpure compared(n) do
      [a, b, c] = [adder(n), adder(n), adder(n + 1)]

      {a == b, a === b, a == c, a == 1, %{a => 1}[b], %{a => 1}[c], b in [a],
       Enum.uniq([a, b, c]) |> length()}
    end

    defpure ordered(n) do
      f = adder(n)
      {f > :z, f < {}, f < [], f > 1.0, max(f, "x") == "x", Enum.sort([[], f, 1]) == [1, f, []]}
    end

    defpure given(list, map, f, g) do
      {Enum.map(list, f), Enum.each(list, f), Enum.flat_map(list, &[f.(&1)]),
       Enum.map_reduce(list, 0, &{f.(&1), &2}), Enum.reduce(list, 0, g), Enum.reduce(list, g),
       Enum.sort_by(list, f), Enum.group_by(list, f), Enum.find(list, f),
       Enum.zip_with([list, list], fn [a, b] -> g.(a, b) end), Enum.zip_with(list, list, g),
       Map.update(map, :a, 0, f), Map.update!(map, :a, f), Map.new(map, fn {k, v} -> {k, f.(v)} end),
       Keyword.update([a: 1], :a, 0, f), List.update_at(list, 0, f), List.foldl(list, 0, g),
       update_in(map.a, f), Enum.with_index(list, g), Enum.with_index(list, 7), then(3, f), tap(3, f),
       Enum.max_by(list, f), Enum.frequencies_by(list, f)}
    end

    defpure sorted(list, by),
      do:
        {Enum.sort(list, by), Enum.sort_by(list, & &1, by),
         List.keysort([{2, :a}, {1, :b}, {2, :c}, {1, :d}], 0, by)}

    defpure indexed(list, by), do: Enum.with_index(list, by)
    defpure replaced(text, by), do: String.replace(text, "a", by)

    defpure replacing(text), do: {replaced(text, "c"), replaced(text, &(&1 <> &1))}
    defpure indexing(list), do: {indexed(list, 3), indexed(list, &{&2, &1})}

    # What makes the function is calculated once, and in its place.
    defpure once(list), do: Enum.map(list, hd([adder(length(list))]))

    defpure applied(f, list), do: apply(f, list)

    defpure applying(x) do
      {apply(fn -> 1 end, []), apply(&{&1, &2}, [x, 2]), applied(&add/2, [1, x]),
       applied(fn -> :none end, []), apply(__MODULE__, :twice, [adder(1), x]), apply(List, :last, [[1, x]])}
    end

    defpure call(f, x), do: f.(x)
    defpure call_two(f), do: f.(1, 2)
    defpure wrong_arity, do: call_two(fn x -> x end)
    defpure of_function(x), do: call(fn {y} -> y end, x)
    defpure raised(x), do: call(fn y -> y + 1 end, x)
    defpure aborted(x), do: call(fn y -> abort({:no, y}) end, x)
    defpure path(map), do: get_in(map, [:a, fn _, _, _ -> 1 end])

    defactor keeper(f) do
      {:set, g} -> become keeper(g)
      {customer, {:call, x}} -> send customer, f.(x)
      {customer, :get} -> send customer, f
      {customer, {:handed, to, x}} -> send to, {customer, f, x}
      {customer, {:written, to}} -> send to, {customer, {:write, f}}
    end

    defactor caller() do
      {customer, f, x} -> send customer, {:called, f.(x)}
    end

    # A message that holds a function, with what the actor and the message have.
    defactor maker(base) do
      {customer, {:make, n, to}} ->
        send to, {:set, fn x -> {x, n, base} end}
        send customer, :made
    end

    defactor counter(step, n) do
      {customer, :next} ->
        send customer, n
        become n: step.(n)
    end
  end

  defmodule Undefined do
    use Mote.Behaviour, errors: :undefined

    defpure call(f, x), do: f.(x)
    defpure filtered(list), do: Enum.filter(list, hd([fn x -> x > 1 end]))
    defpure added(x), do: call(fn y -> y + 1 end, x)
    defpure wrong_arity, do: call(fn a, b -> {a, b} end, 1)
  end

  setup_all do
    for tier <- [:interp, :native], into: %{} do
      {:ok, machine} = Mote.start_link(tier: tier)
      :ok = Mote.load(machine, Values)
      :ok = Mote.load(machine, Undefined)
      Mote.Eventually.eventually(fn -> Mote.info(machine).native.pending == 0 end)
      {tier, machine}
    end
  end

  # The value in plain Elixir, which both tiers agree with.
  defp value(machines, name, args, module \\ Values) do
    value = apply(module, name, args)

    for tier <- [:interp, :native] do
      future = Mote.Future.future(Function.capture(module, name, length(args)), args, machine: machines[tier])
      assert {tier, name, Mote.Future.touch(future)} === {tier, name, value}
    end

    value
  end

  # The reason of an abort, on which both tiers agree.
  defp reason(machines, name, args, module \\ Values) do
    [reason, reason] =
      for tier <- [:interp, :native] do
        function = Function.capture(module, name, length(args))

        error =
          assert_raise Mote.Error, fn ->
            Mote.Future.touch(Mote.Future.future(function, args, machine: machines[tier]))
          end

        assert error.reason == :aborted
        error.context.reason
      end

    reason
  end

  @moduletag :capture_log

  test "within a turn they do what they do in Elixir", machines do
    for {name, args} <- [
          in_variables: [[1, 2, 3], 10],
          in_terms: [[1, 2]],
          with_clauses: [{:ok, 2}],
          with_clauses: [[3]],
          with_clauses: [%{a: 4}],
          with_clauses: [nil],
          counted: [100_000],
          nested: [1_000],
          all_tested: [],
          guarded: [],
          compared: [3],
          ordered: [3],
          sorted: [[2, 3, 1], :asc],
          sorted: [[2, 3, 1], :desc],
          replacing: ["banana"],
          indexing: [[:a, :b]],
          once: [[1, 2]],
          applying: [5]
        ],
        do: value(machines, name, args)

    assert value(machines, :compared, [1]) == {true, true, false, false, 1, nil, true, 2}
  end

  test "functions of the library take them as values", machines do
    # What Elixir gives is no function of the language: they come from a function here.
    defmodule Given do
      use Mote.Behaviour

      defpure all(list, map), do: Values.given(list, map, &(&1 * 2), &(&1 + &2))
    end

    for machine <- Map.values(Map.take(machines, [:interp, :native])), do: :ok = Mote.load(machine, Given)
    value(machines, :all, [[3, 1, 2], %{a: 1, b: 2}], Given)
  end

  test "a call of what is no such function aborts the turn as Elixir raises", machines do
    assert {:raised, {Values, _, :apply}, {7}} = reason = reason(machines, :call, [7, 1])
    assert Raised.exception(reason) == %BadFunctionError{term: 7}

    assert Raised.format(reason) =~
             ~r/^\*\* \(BadFunctionError\) functions_test.exs:\d+: expected a function, got: 7$/

    assert {:raised, {Values, _, :apply}, {%Mote.Function{arity: 1}, [1, 2]}} =
             reason = reason(machines, :wrong_arity, [])

    assert %BadArityError{args: [1, 2], function: function} = Raised.exception(reason)
    assert is_function(function, 1)
    assert Raised.format(reason) =~ "with arity 1 called with 2 arguments (1, 2)"

    # What fails in a function is told where it stands.
    assert {:raised, {Values, _, {:function_clause, name, 1}}, _} = reason(machines, :of_function, [3])
    assert Atom.to_string(name) =~ "fun"
    assert {:raised, {Values, _, :add}, {:x, 1}} = reason(machines, :raised, [:x])
    assert {:abort, {:no, 2}} = reason(machines, :aborted, [2])
    assert :stack = reason(machines, :nested, [200_000])

    assert %ArgumentError{} = Raised.exception(reason(machines, :tested, [1, -1]))
  end

  test "a function among keys goes on by itself", machines do
    assert value(machines, :path, [%{a: %{}}]) == 1
  end

  test "a function of Elixir is carried, and not called", machines do
    assert Values.call(&{&1}, 1) == {1}
    assert value(machines, :tested, [&{&1}]) == {true, false, true, false}
    assert value(machines, :tested, [&Enum.map/2]) == {true, false, false, true}
    assert {:raised, {Values, _, :apply}, {_, [1]}} = reason = reason(machines, :call, [&{&1}, 1])
    assert Raised.exception(reason).message == "a machine carries functions of Elixir, and cannot call them"
  end

  test "with errors: :undefined the turn is aborted all the same", machines do
    assert value(machines, :added, [:x], Undefined) == :undefined
    assert value(machines, :filtered, [[1, 2, 3]], Undefined) == [2, 3]
    assert {:apply, 7} = reason(machines, :call, [7, 1], Undefined)
    assert {:apply, {%Mote.Function{arity: 2}, [1]}} = reason(machines, :wrong_arity, [], Undefined)
  end

  test "actors keep them, hand them on and call them", machines do
    for tier <- [:interp, :native], machine = machines[tier] do
      keeper = Mote.create(machine, Values.keeper(nil))
      maker = Mote.create(machine, Values.maker(:base))
      assert Mote.ask!(maker, {:make, 7, keeper}) == :made
      assert Mote.ask!(keeper, {:call, 1}) == {1, 7, :base}
      Mote.gc(machine)
      caller = Mote.create(machine, Values.caller())
      assert Mote.ask!(keeper, {:handed, caller, 2}) == {:called, {2, 7, :base}}
    end
  end

  test "outside they are structs, which are functions again where their unit is", machines do
    machine = machines.interp
    keeper = Mote.create(machine, Values.keeper(nil))
    maker = Mote.create(machine, Values.maker(:base))
    Mote.ask!(maker, {:make, 7, keeper})
    version = Values.__mote__(:hash)
    function = Mote.ask!(keeper, :get)
    assert %Mote.Function{module: Values, arity: 1, version: ^version, captures: {:base, 7}} = function
    assert inspect(function) =~ ~r/^#Mote.Function<#{inspect(Values)}."maker\/1 fn \d+:1"\/1>$/

    for other <- [machine, machines.native] do
      again = Mote.create(other, Values.keeper(function))
      assert Mote.ask!(again, {:call, 1}) == {1, 7, :base}
      assert Mote.ask!(again, :get) == function
      # From machine to machine, too.
      caller = Mote.create(machine, Values.caller())
      assert Mote.ask!(again, {:handed, caller, 3}) == {:called, {3, 7, :base}}
    end

    for strange <- [
          %{function | version: 1},
          %{function | captures: {}},
          %{function | arity: 2},
          %{function | name: :f}
        ] do
      kept = Mote.create(machine, Values.keeper(strange))
      assert Mote.ask!(kept, :get) == strange
      assert {:error, %Mote.Error{reason: :aborted, context: %{reason: reason}}} = Mote.ask(kept, {:call, 1})
      assert Raised.exception(reason) == %BadFunctionError{term: strange}
    end

    # A machine that has another module only.
    {:ok, without} = Mote.start_link()
    kept = Mote.create(without, Mote.Library.cell(function))
    assert Mote.ask!(kept, :read) == function
    other = Mote.create(without, Mote.Library.cell(nil))
    Mote.ask!(keeper, {:written, other})
    assert Mote.ask!(other, :read) == function
  end

  test "a version that was loaded before goes on" do
    source = fn result ->
      """
      defmodule Mote.Behaviour.FunctionsTest.Reloaded do
        use Mote.Behaviour
        defactor keeper(f) do
          {customer, :call} -> send customer, f.(1)
          {customer, :make} ->
            send customer, :made
            become keeper(fn x -> {x, #{result}} end)
        end
      end
      """
    end

    {:ok, machine} = Mote.start_link()
    [{module, _}] = Code.compile_string(source.(":old"))
    :ok = Mote.load(machine, module)
    keeper = Mote.create(machine, module.keeper(nil))
    Mote.ask!(keeper, :make)
    ExUnit.CaptureIO.capture_io(:stderr, fn -> Code.compile_string(source.(":new")) end)
    :ok = Mote.load(machine, module)
    assert Mote.ask!(keeper, :call) == {1, :old}
    # The first of these turns is one of the version before.
    for _ <- 1..2, do: Mote.ask!(keeper, :make)
    assert Mote.ask!(keeper, :call) == {1, :new}
  end
end
