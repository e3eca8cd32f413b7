defmodule Mote.Behaviour.DoctestsTest do
  # The examples of Elixir's own documentation, and calls of the same functions with odd arguments, as behaviours: on machines of
  # both tiers and in plain Elixir each is exactly what it is in the Elixir that runs, or the machine aborts where it raises.
  #
  # 1. Answers are compared by `===` and by their bytes, whole, so that a range is not the list of its numbers.
  # 2. What the language refuses is no example here; what it accepts and then does otherwise is named by the guide, in one table.
  # 3. Each example is tried as it is written, where the compiler may calculate it, and with its literals as variables. So is a third of
  #    them with those of first arguments only, another one by each seed; all with `MOTE_LONG=1`.
  use ExUnit.Case, async: true
  import ExUnit.CaptureIO
  import Mote.Doctests.Outcome

  @moduletag :capture_log

  alias Mote.Behaviour.Listing
  alias Mote.Doctests
  alias Mote.Doctests.Example

  @long Mote.Long.long?()

  @modules Enum.map(
             ~w[Access Atom Base Bitwise Enum Float Function Inspect.Algebra Integer IO Kernel Kernel.SpecialForms Keyword] ++
               ~w[List Map MapSet Range Regex Stream String Tuple] ++
               ~w[Calendar Calendar.ISO Date DateTime NaiveDateTime Time URI Version],
             &Module.concat([&1])
           )

  # Under "What is left out": functions in variables among the keys of some, and modules as sorters that are values;
  # texts of structs that are not imported, and kinds of characters in regexes.
  @left_out ~r/fn :get|URI\.merge.*to_string|\[:(blank|lower):\]|(Enum\.sort(_by)?|keysort)\((dates|users).*literal/
  # Arguments that are no argument of anything, and those of functions that take others.
  @odd [[], [1, 1.0, 2], [a: 1, a: 2], [{1, 2}, {3, 4}], nil, 0, -1, 3, -1.5, "", <<255>>, {1, 2}, %{1 => 2}] ++
         [MapSet.new(a: 1), 3..1//-1, -1..0//-1, -2..-1//1, [1 | 2], %{__struct__: "no name"}]
  @odder [
           [1],
           ["a", "b"],
           [[1], [2]],
           [[a: 1], [b: 2]],
           [?a | ?b],
           :a,
           true,
           1,
           9,
           0.0,
           -0.0,
           "aé b",
           "12",
           {},
           {:a, 1, 2}
         ] ++
           [
             %{},
             %{a: %{b: 1}},
             MapSet.new([1, 2]),
             1..3,
             1..0//1,
             5..1//-2,
             ~D[2020-01-01],
             ["a", 98, ["c" | "d"]]
           ]

  # Where Elixir looks at no more than it needs, whatever the rest is; and `String.replace/3` makes of bytes that are no text
  # what no text can be.
  # The time zones of a node are not those of a machine.
  @lax ~r/Date\.range|DateTime\.(from_naive|new|shift_zone)|Base\.\w*decode|(take_every|slice)\(|List\.zip|String\.(contains\?|starts_with\?|split|replace)\(|Enum.slide/

  # Compiled once for both tests of them, and each once, whatever its literals were.
  setup_all do
    examples = Enum.flat_map(@modules, &Doctests.examples/1)
    seed = ExUnit.configuration()[:seed]
    first = if @long, do: examples, else: examples |> Enum.drop(rem(seed, 3)) |> Enum.take_every(3)
    lifted = Enum.map(examples, &Doctests.lifted(&1, :all)) ++ Enum.map(first, &Doctests.lifted(&1, :first))
    all = Enum.uniq_by(examples ++ lifted, &{&1.quoted, &1.values})
    assert length(examples) > 1_000
    values = Enum.group_by(all, & &1.quoted, & &1.values)
    %{values: values, served: serve(Enum.uniq_by(all, & &1.quoted))}
  end

  test "of Elixir's documentation are what they are in Elixir", %{values: values, served: served} do
    results = run(served, &values[&1.quoted])
    assert results.wrong == []
    assert Enum.reject(results.aborted, fn {text, _, _} -> text =~ @left_out end) == []
    # Of each two of three examples there are some: they have been read, and the language has them.
    all = values |> Map.values() |> Enum.concat() |> length()
    assert length(results.same) > 2 * div(all, 3)
  end

  # What later releases make of arguments that nobody should give is not known.
  @tag skip: not Version.match?(System.version(), "~> 1.14.0") && "checked with Elixir 1.14"
  @tag timeout: 600_000
  test "with odd arguments are what they are in Elixir, or the turn is aborted where it raises", context do
    odd = if @long, do: @odd ++ @odder, else: @odd

    results =
      run(context.served, fn %Example{values: values, quoted: quoted} ->
        # A stream may not end.
        endless = Macro.to_string(quoted) =~ "Stream"

        for {_, i} <- Enum.with_index(values),
            not endless,
            value <- odd,
            do: List.replace_at(values, i, value)
      end)

    assert results.wrong == []
    assert Enum.reject(results.aborted, fn {text, _, _} -> text =~ @lax or text =~ @left_out end) == []
    assert length(results.same) > 10_000
  end

  # No releases of Erlang have examples for all of them: these are made of nothing but arguments.
  @erlang [:lists, :maps, :queue, :binary, :math, :erlang]
  # What Erlang does not look at, and the digits of floats by themselves.
  @lax_erlang ~r/:binary\.|float_to_binary|:lists\.(append|nthtail|sublist)/
  @queues [{[3, 2], [1]}, {[], [1]}, {[1], []}, {[], []}]

  @tag skip: not Version.match?(System.version(), "~> 1.14.0") && "checked with Elixir 1.14"
  @tag timeout: 600_000
  test "of Erlang with all kinds of arguments are what they are there, or the turn is aborted" do
    functions =
      for {module, _, arity} = function when module in @erlang and arity in 1..3 <- Listing.all(),
          do: function

    results = run_calls(functions, @odd ++ @queues, @odd)
    assert results.wrong == []
    assert Enum.reject(results.aborted, fn {text, _, _} -> text =~ @lax_erlang end) == []
    assert length(results.same) > 10_000
  end

  # Of these the definitions of the release itself are compiled.
  @compiled [
    :array,
    :calendar,
    :gb_sets,
    :gb_trees,
    :lists,
    :maps,
    :orddict,
    :ordsets,
    :proplists,
    :queue,
    :string
  ]
  @arguments [
               [],
               [1, 2, 3],
               [a: 1, b: 2],
               [{3, 4}, {1, 2}],
               nil,
               0,
               1,
               -1,
               "a",
               {1, 2},
               {2020, 2, 29},
               %{1 => 2},
               [?a, ?b],
               ?a
             ] ++
               [
                 {{2020, 2, 29}, {1, 2, 3}},
                 :gb_sets.from_list([1, 2, 3]),
                 :gb_trees.from_orddict([{1, 2}, {3, 4}])
               ] ++
               [
                 :array.from_list([1, 2, 3]),
                 :queue.from_list([1, 2, 3]),
                 [1 | 2],
                 [1, 1.0, 2],
                 [[a: 1], [b: 2]]
               ]

  @tag timeout: 600_000
  test "of Erlang that are compiled from its own definitions are what they are there" do
    functions =
      for module <- @compiled,
          {name, arity} <- module.module_info(:exports),
          arity in 1..3 and name not in [:module_info, :seq, :duplicate],
          do: {module, name, arity}

    results = run_calls(functions, @arguments, @arguments)
    assert results.wrong == []
    assert Enum.reject(results.aborted, fn {text, _, _} -> text =~ @lax_erlang end) == []
    called = for {text, _, _} <- results.same, uniq: true, do: text |> String.split("(") |> hd()
    assert length(called) > 250
  end

  # Calls of functions with all of `few` where there are less than three arguments, else with a third of `many`; and with a function as
  # the first argument.
  defp run_calls(functions, few, many) do
    arguments = fn %Example{values: values} ->
      some = if length(values) < 3, do: few, else: Enum.take_every(many, 3)
      for _ <- values, reduce: [[]], do: (lists -> for(list <- lists, value <- some, do: [value | list]))
    end

    examples =
      for {function, i} <- Enum.with_index(functions),
          [calls | others] = Enum.map(0..3, &Doctests.calling(function, &1)),
          example <- [calls | unlike(others, arguments, rem(i, 3))],
          do: example

    run(serve(examples), arguments)
  end

  # Those that Erlang answers to, if that depends on how many parameters the function has; else one of them.
  defp unlike(examples, arguments, i) do
    case Enum.filter(examples, &answered?(Doctests.elixir(&1), arguments.(&1))) do
      answered when length(answered) in 1..2 -> answered
      _ -> [Enum.at(examples, i)]
    end
  end

  defp answered?(elixir, arguments),
    do: Enum.any?(arguments, &(attempt(fn -> apply(elixir, &1) end) != :raises))

  # The examples that the language has, `{module, accepted, actors}`, on machines of both tiers.
  defp serve(examples) do
    machines = for tier <- [:interp, :native], do: start_supervised!({Mote, tier: tier, id: make_ref()})

    quietly(fn ->
      for {module, accepted} <- Doctests.compile(examples) do
        for machine <- machines, do: Mote.Generators.load(machine, module)
        {module, accepted, for(machine <- machines, do: Mote.create(machine, module.server()))}
      end
    end)
  end

  # Elixir warns of what its examples do.
  defp quietly(fun) do
    capture_io(:stderr, fn -> send(self(), {:done, fun.()}) end)
    assert_received {:done, result}
    result
  end

  # All of them with all their arguments: `{text, arguments, answers}`, by what came of them.
  defp run(served, arguments) do
    outcomes = quietly(fn -> outcomes(served, arguments) end)
    Map.merge(%{same: [], wrong: [], aborted: []}, Enum.group_by(outcomes, &elem(&1, 0), &elem(&1, 1)))
  end

  defp outcomes(served, arguments) do
    for {module, accepted, actors} <- served,
        {i, example} <- accepted,
        text = Macro.to_string(example.quoted),
        not chance?(text),
        elixir = Doctests.elixir(example),
        values <- arguments.(example) do
      expected = attempt(fn -> apply(elixir, values) end)
      plain = attempt(fn -> apply(module, :"e#{i}", values) end)
      asked = for actor <- actors, do: Mote.ask(actor, {i, List.to_tuple(values)})
      answers = [plain | Enum.map(asked, &answer/1)]
      outcome = outcome(expected, answers)
      told = outcome != :same and told?(text, expected, tl(answers))
      {if(told, do: :told, else: outcome), {text, values, [expected | answers]}}
    end
  end
end
