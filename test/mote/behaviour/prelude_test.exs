defmodule Mote.Behaviour.PreludeTest do
  # Every function that the documentation lists against Elixir's own, over generated arguments: as plain Elixir, as IR, and in
  # a machine by interpreter and by native code.
  use ExUnit.Case, async: true
  use ExUnitProperties
  import ExUnit.CaptureIO

  alias Mote.Behaviour.Listing
  alias Mote.{Interpret, Prelude}
  alias Mote.PreludeCases, as: Cases
  alias Mote.PreludeCases.Variables

  @runs 25

  # What Elixir does not have, or not in all releases and not as a function.
  @without_elixir ~w[on is_address self send sendx send_after cancel_timer create become abort stash is_non_struct_map]a
  @macros_of_later_releases [get_in: 1]

  test "every function of the list has a case" do
    calls = Cases.all() |> Enum.join("\n") |> Code.string_to_quoted!() |> calls()

    for {module, name, arity} = entry <- Listing.all(),
        name not in @without_elixir and module not in [Mote.Vector, Mote.Integer],
        {name, arity} not in @macros_of_later_releases do
      assert entry in calls or (module in [nil, Bitwise] and {Bitwise, name, arity} in calls) or
               (module in [nil, Kernel] and {nil, name, arity} in calls),
             "no case has #{Listing.spelling(entry)}"
    end
  end

  # In a circle one of them would be compiled without having seen the others.
  test "no two modules call each other" do
    graph = :digraph.new()
    {:ok, modules} = :application.get_key(:mote, :modules)

    for module <- modules,
        "Mote.Prelude." <> _ <- [inspect(module)],
        Code.ensure_loaded?(module) and function_exported?(module, :__mote__, 1) do
      :digraph.add_vertex(graph, module)

      for other <- module.__mote__(:imports) do
        :digraph.add_vertex(graph, other)
        :digraph.add_edge(graph, module, other)
      end
    end

    assert :digraph.no_edges(graph) > 5
    assert :digraph_utils.is_acyclic(graph)
  end

  defp calls(ast) do
    {_, calls} =
      Macro.prewalk(ast, MapSet.new(), fn
        {{:., _, [{:__aliases__, _, parts}, name]}, _, args} = node, calls ->
          {node, MapSet.put(calls, {Module.concat(parts), name, length(args)})}

        {{:., _, [module, name]}, _, args} = node, calls when is_atom(module) and is_list(args) ->
          {node, MapSet.put(calls, {module, name, length(args)})}

        {name, _, args} = node, calls when is_atom(name) and is_list(args) ->
          {node, MapSet.put(calls, {nil, name, length(args)})}

        node, calls ->
          {node, calls}
      end)

    calls
  end

  for {group, n} <- Enum.with_index(Cases.groups()) do
    @tag timeout: 180_000
    test "of #{group}" do
      cases = Cases.of(unquote(group))
      module = compiled(cases, unquote(n))

      actors =
        for tier <- [:interp, :native] do
          machine = start_supervised!({Mote, tier: tier, id: make_ref()})
          if tier == :native, do: {:ok, _} = Mote.Generators.load(machine, module)
          Mote.create(machine, module.server())
        end

      for {expression, i} <- Enum.with_index(cases), do: check(expression, i, module, actors)
    end
  end

  # One argument is none that the function is for.
  @wrong [
    1.5,
    -1,
    0,
    :a,
    nil,
    true,
    {},
    [],
    [:a],
    [nil],
    [1 | 2],
    "",
    "é",
    <<255>>,
    <<1::3>>,
    %{},
    %{a: 1},
    1..3
  ]

  # Whether all of each list is looked at.
  defp unlike?(expression, [1 | 2]), do: expression =~ ~r/concat|zip|count_until/
  defp unlike?(_, _), do: false

  for {group, n} <- Enum.with_index(Cases.groups()) do
    @tag timeout: 180_000
    test "of #{group}: where Elixir raises a turn is aborted" do
      cases = Enum.filter(Cases.of(unquote(group)), &(Variables.of(&1) != []))
      module = compiled(cases, unquote(n), :abort)

      # Elixir warns of some that it still takes.
      capture_io(:stderr, fn ->
        for {expression, i} <- Enum.with_index(cases), do: check_wrong(expression, i, module)
      end)

      Mote.Compile.purge(module)
    end
  end

  defp check_wrong(expression, i, module) do
    variables = Variables.of(expression)
    arguments = StreamData.fixed_list(Enum.map(variables, &Variables.generator/1))
    wrong = {StreamData.member_of(variables), StreamData.member_of(@wrong)}

    {:ok, _} =
      StreamData.check_all(
        StreamData.tuple({arguments, StreamData.tuple(wrong)}),
        [initial_seed: :os.timestamp(), max_runs: @runs],
        fn {arguments, {variable, value}} ->
          bindings = variables |> Enum.zip(arguments) |> Keyword.put(variable, value)
          arguments = Enum.map(variables, &bindings[&1])

          if not unlike?(expression, value) and not later?(expression) and
               attempt(expression, bindings) == :raises do
            place = "#{expression} of #{inspect(bindings, charlists: :as_lists)}"
            answer = Mote.Turn.run(fn -> {:value, apply(module, :"mote v#{i}", arguments)} end).outcome
            assert match?({:abort, _}, answer), "#{place}: #{inspect(answer)}"
            assert told?(answer, module), "#{place}: #{inspect(answer)}"
          end

          {:ok, nil}
        end
      )
  end

  # Of the line that called it, not of one of the library's own.
  defp told?({:abort, {:raised, {where, _line, _operation}, _arguments}}, module), do: where == module
  defp told?({:abort, {:abort, _unsupported}}, _module), do: true

  # Deeper than a stack of the machine is: a function that needs stack for each element would abort the turn.
  @long 150_000

  @on_long_lists [
    "List.delete(list, 0)",
    "List.delete_at(list, -1)",
    "List.insert_at(list, -1, :last)",
    "List.replace_at(list, -1, :last)",
    "List.update_at(list, -1, &(&1 + 1))",
    "List.pop_at(list, -1)",
    "List.flatten([list, [list]])",
    "List.zip([list, list])",
    "List.last(list)",
    "List.foldr(list, 0, fn x, sum -> x + sum end)",
    "List.keydelete(Enum.zip(list, list), 0, 0)",
    "List.keyreplace(Enum.zip(list, list), 0, 0, {:new, 0})",
    "List.keystore(Enum.zip(list, list), :none, 0, {:none, 0})",
    "List.keyfind(Enum.zip(list, list), 0, 0)",
    "Keyword.delete(for(x <- list, do: {:a, x}), :b)",
    "Enum.sort(list)",
    "Enum.sort_by(list, &(-&1))",
    "Enum.concat([list, list])",
    "Enum.flat_map(list, &[&1, &1])",
    "Enum.zip(list, list)",
    "Enum.unzip(Enum.zip(list, list))",
    "Enum.map_join(list, \",\", & &1)",
    "Enum.chunk_every(list, 2)",
    "Enum.find(list, &(&1 == 0))",
    "Enum.find_value(list, &if(&1 == 0, do: &1))",
    "Enum.slice(list, -2, 2)",
    ":queue.to_list(:queue.drop(:queue.from_list(list)))",
    ":queue.to_list(:queue.drop_r(Enum.reduce(list, :queue.new(), &:queue.in(&1, &2))))",
    "Enum.split(list, -1)",
    "Enum.uniq(list)",
    "Enum.group_by(list, &(&1 > 10))",
    "Enum.intersperse(list, 0)",
    "Enum.scan(list, &(&1 + &2))"
  ]

  @tag timeout: 180_000
  test "take long lists" do
    list = Enum.to_list(@long..0//-1)
    cases = Enum.with_index(@on_long_lists)
    functions = for {expression, i} <- cases, do: "defpure v#{i}(list), do: #{expression}\n"
    clauses = for {_, i} <- cases, do: "{customer, {#{i}, list}} -> send customer, v#{i}(list)\n"
    module = Mote.Compile.module("#{functions}\ndefactor server() do\n#{clauses}\nend")

    for tier <- [:interp, :native] do
      machine = start_supervised!({Mote, tier: tier, id: make_ref()})
      if tier == :native, do: {:ok, _} = Mote.Generators.load(machine, module)
      actor = Mote.create(machine, module.server())

      for {expression, i} <- cases do
        {expected, _} = Code.eval_string(expression, list: list)
        answer = Mote.ask(actor, {i, list}, timeout: 60_000)
        # Not by an assertion that prints them.
        assert {tier, expression, answer === {:ok, expected}} == {tier, expression, true}
      end
    end
  end

  # Not all of them are assigned, and each stands for itself in a property of its own.
  test "white space and characters are those of Elixir" do
    points =
      Enum.concat([
        0..0x3FF,
        0x1600..0x16FF,
        0x1E00..0x33FF,
        0x4E00..0x4E40,
        0xAC00..0xAC40,
        [0xFEFF, 0x1F600]
      ])

    for c <- points, text = <<"a", c::utf8, "b">> do
      assert {c, Prelude.String.split(text)} == {c, String.split(text)}
      assert {c, Prelude.String.trim(<<c::utf8>>)} == {c, String.trim(<<c::utf8>>)}

      assert {c, Prelude.String.trim(<<c::utf8>> <> text <> <<c::utf8>>)} ==
               {c, String.trim(<<c::utf8>> <> text <> <<c::utf8>>)}

      try do
        assert {c, Prelude.String.graphemes(text)} == {c, String.graphemes(text)}
      rescue
        error in Mote.Abort -> assert error.reason == {:abort, {:unsupported_character, <<c::utf8>>}}
      end
    end

    assert Prelude.String.graphemes("Größe, Привет, こんにちは, 漢字, 한국어, Ωμέγα: 5 €") |> length() == 41
    assert catch_error(Prelude.String.characters("👍")).reason == {:abort, {:unsupported_character, "👍"}}
    assert Prelude.String.graphemes(<<255, ?a>>) == [<<255>>, "a"]
  end

  test "a key that is missing is not updated" do
    module = Mote.Compile.module("defpure f(list), do: Keyword.update!(list, :b, &(&1 + 1))", "", :abort)
    assert module.f(a: 1, b: 2, b: 3) == [a: 1, b: 3]
    assert_raise KeyError, fn -> module.f(a: 1) end
    assert_raise KeyError, fn -> Interpret.call(module, :f, [[a: 1]]) end
  end

  # Some releases of Elixir are mistaken about ranges with steps.
  test "ranges are disjoint that have no number in common" do
    ranges = for first <- -3..4, last <- -4..5, step <- [-4, -3, -1, 1, 2, 5], do: first..last//step

    for a <- Enum.take_every(ranges, 7), b <- Enum.take_every(ranges, 5) do
      assert {a, b, Prelude.Range.disjoint?(a, b)} == {a, b, not Enum.any?(a, &(&1 in b))}
    end
  end

  test "the least integer is read and written" do
    least = -4_611_686_018_427_387_904

    module =
      Mote.Compile.module("""
      defpure read(text), do: {String.to_integer(text), Integer.parse(text)}
      defpure written(n, base), do: {Integer.to_string(n), Integer.to_string(n, base)}
      """)

    assert module.read("#{least}") == {least, {least, ""}}

    for base <- [2, 10, 36],
        do: assert(module.written(least, base) == {"#{least}", Integer.to_string(least, base)})
  end

  # A function for each case, and a behaviour that calls it for who asks.
  defp compiled(cases, n, errors \\ :undefined) do
    functions =
      for {expression, i} <- Enum.with_index(cases),
          do: "defpure v#{i}(#{parameters(expression)}) do\n#{expression}\nend\n"

    clauses =
      for {expression, i} <- Enum.with_index(cases) do
        names = parameters(expression)
        "{customer, {#{i}, {#{names}}}} -> send customer, v#{i}(#{names})\n"
      end

    Mote.Compile.module(
      "#{functions}\ndefactor server() do\n#{clauses}\nend",
      "@n #{n}; _ = @n; require Integer; require Record",
      errors
    )
  end

  defp parameters(expression), do: expression |> Variables.of() |> Enum.join(", ")

  defp check(expression, i, module, actors) do
    variables = Variables.of(expression)

    {:ok, _} =
      StreamData.check_all(
        StreamData.fixed_list(Enum.map(variables, &Variables.generator/1)),
        [initial_seed: :os.timestamp(), max_runs: @runs],
        fn arguments ->
          bindings = Enum.zip(variables, arguments)

          # What this release does not have must be the same everywhere.
          expected =
            if later?(expression),
              do: {:value, apply(module, :"v#{i}", arguments)},
              else: attempt(expression, bindings)

          # Where Elixir raises is for the other test.
          with {:value, value} <- expected do
            place = "#{expression} of #{inspect(bindings, charlists: :as_lists)}"
            assert {place, apply(module, :"v#{i}", arguments)} === {place, value}
            assert {place, Interpret.call(module, :"v#{i}", arguments)} === {place, value}

            for actor <- actors do
              assert {place, Mote.ask(actor, {i, List.to_tuple(arguments)})} === {place, {:ok, value}}
            end
          end

          {:ok, nil}
        end
      )
  end

  defp attempt(expression, bindings) do
    {:value, expected(expression, bindings)}
  rescue
    _ -> :raises
  end

  defp expected(expression, bindings) do
    {value, _} = Code.eval_string("require Integer; require Record\n" <> expression, bindings)
    value
  end

  # Whether a case calls a function that Elixir has in another release only.
  defp later?(expression) do
    expression
    |> Code.string_to_quoted!()
    |> calls()
    |> Enum.any?(fn {module, name, arity} ->
      Prelude.entry(module, name, arity) != nil and Code.ensure_loaded?(module) and
        not function_exported?(module, name, arity) and not macro_exported?(module, name, arity)
    end)
  end
end
