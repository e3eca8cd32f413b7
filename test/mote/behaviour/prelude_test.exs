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

  @runs Mote.Long.runs(12)

  # What Elixir does not have, or not in all releases and not as a function.
  @without_elixir ~w[on is_address self send sendx send_after cancel_timer create become again abort stash is_non_struct_map]a
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

      actors = Mote.Generators.on_tiers(module, module.server())
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
    [1 | %{a: 1}],
    [1 | 1..3],
    "",
    "é",
    <<255>>,
    <<1::3>>,
    %{},
    %{a: 1},
    1..3
  ]

  # Whether all of each list is looked at.
  defp unlike?(expression, [1 | _]), do: expression =~ ~r/concat|zip|count_until/
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
    {elixir, later?} = {elixir(expression, variables), later?(expression)}

    {:ok, _} =
      StreamData.check_all(
        StreamData.tuple({arguments, StreamData.tuple(wrong)}),
        [initial_seed: :os.timestamp(), max_runs: @runs],
        fn {arguments, {variable, value}} ->
          bindings = variables |> Enum.zip(arguments) |> Keyword.put(variable, value)
          arguments = Enum.map(variables, &bindings[&1])

          if not unlike?(expression, value) and not later? and elixir.(arguments) == :raises do
            place = "#{expression} of #{inspect(bindings, charlists: :as_lists)}"
            answer = Mote.Compile.reason(module, :"v#{i}", arguments)
            assert told?(answer, module), "#{place}: #{inspect(answer)}"
          end

          {:ok, nil}
        end
      )
  end

  # Of the line that called it, not of one of the library's own.
  defp told?({:raised, {where, _line, _operation}, _arguments}, module), do: where == module
  defp told?(_answer, _module), do: false

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
    module = served(@on_long_lists, fn _ -> "list" end)

    for tier <- [:interp, :native] do
      machine = start_supervised!({Mote, tier: tier, id: make_ref()})
      if tier == :native, do: {:ok, _} = Mote.Generators.load(machine, module)
      actor = Mote.create(machine, module.server())

      for {expression, i} <- Enum.with_index(@on_long_lists) do
        {expected, _} = Code.eval_string(expression, list: list)
        answer = Mote.ask(actor, {i, {list}}, timeout: 60_000)
        # Not by an assertion that prints them.
        assert {tier, expression, answer === {:ok, expected}} == {tier, expression, true}
      end
    end
  end

  # What looks like Elixir's answer may be another one: compared as `===` compares, or both raise.
  @exact [
    ":queue.from_list(x)",
    ":queue.join(:queue.from_list(x), :queue.new())",
    ":queue.join(:queue.new(), :queue.from_list(x))",
    ":queue.join(:queue.from_list(x), :queue.from_list(x))",
    "Keyword.equal?([a: 1.0], [a: hd(x)])",
    "List.keystore([], :k, 0, x)",
    "List.keyreplace([], :k, 0, hd(x))",
    "List.ascii_printable?(x ++ ?d)",
    "List.ascii_printable?(x, 2)",
    "Enum.slice(x, -1..0//-1)",
    "Enum.slice(x, 1..0//-1)",
    "pop_in(%{john: nil, meg: %{age: 23}}.john[x])",
    "pop_in(%{john: nil, meg: %{age: 23}}[:john][x])",
    "pop_in(%{john: nil, meg: %{age: 23}}[:joe][x])",
    "pop_in(%{john: nil, meg: %{x => 23}}.meg[x])",
    "pop_in(%{meg: %{x => 23}}[:meg][x])",
    "Map.drop(%{1 => 2}, MapSet.new(x))",
    "Map.take(%{1 => 2}, MapSet.new(x))",
    "Map.new(MapSet.new(x, &{&1, 0}))",
    "Map.new(MapSet.new(x))",
    "Map.new(%{__struct__: x})",
    "Map.new(URI)",
    "Map.filter(MapSet.new(x), fn {_, y} -> is_map(y) end)",
    "Map.merge(%{map: 1}, MapSet.new(x), fn _, a, b -> {a, b} end)",
    ":maps.fold(fn key, _, n -> if(is_atom(key), do: n + 1, else: n) end, 0, MapSet.new(x))",
    ":maps.filter(fn key, _ -> key == :map end, MapSet.new(x))",
    "{is_struct(%{__struct__: x}), is_struct(%{__struct__: nil})}",
    "Enum.to_list(%{__struct__: x})",
    "Enum.into(%{__struct__: x}, %{a: x})",
    "{%{__struct__: x}[:a], Access.pop(%{__struct__: x}, :__struct__)}",
    "{:__struct__, x} in %{__struct__: x}",
    "Map.from_struct(%{__struct__: x})",
    "struct(%{__struct__: x, a: 1}, a: 2)",
    "case %{__struct__: x} do %_{} -> true; _ -> false end",
    "case %{__struct__: x} do %name{} -> name; _ -> false end",
    "case %{__struct__: x} do %^x{} -> true; _ -> false end",
    "case MapSet.new(x) do %name{map: map} -> {name, map}; _ -> false end",
    "match?([%MapSet{} | %_{}], [MapSet.new(x) | %{__struct__: x}])",
    "for(%_{} = y <- [MapSet.new(x), %{__struct__: x}], do: y)",
    "Enum.concat(1..2, [x | x])",
    "Enum.slide(x, -4..-2, 1)",
    "Enum.slide(x, 3, -9)",
    "Enum.slide(x, -1, 2)",
    "Enum.take(hd(x), 0)",
    "String.slice(Enum.join(x), -1..0//-1)",
    "String.slice(Enum.join(x), 3..1//-1)",
    "String.replace_prefix(Enum.join(x), [\"1\"], \"\")",
    "IO.chardata_to_string(<<255>>)",
    "Keyword.delete([1 | x], :a)",
    "Keyword.put([{:a, 1} | x], :a, 2)",
    "Keyword.merge([], x)",
    "Keyword.get_and_update(x, :a, fn _ -> :pop end)",
    "Keyword.values([{hd(x), 2}])",
    "pop_in(%{a: x}, [:b | 1])",
    "pop_in(%{a: nil}[:a][:b][x])",
    "{String.upcase(\"ıi\", :turkic), String.downcase(\"IİI\\u0307\", :turkic), String.capitalize(\"iI\", :turkic)}",
    "{String.upcase(\"ß\", :default), String.downcase(\"É\", :default), String.capitalize(\"éÉ\", :default)}",
    "for(mode <- [:ascii, :default, :turkic, hd(x)], do: {String.upcase(\"\", mode), String.downcase(\"\", mode)})",
    "for(mode <- [:ascii, :default, :turkic], do: {String.upcase(\"iß\", mode), String.downcase(\"IÉ\", mode)})",
    "for(mode <- [:ascii, :turkic, hd(x)], do: String.capitalize(\"iÉ\", mode))"
  ]

  test "are exactly those of Elixir" do
    module = served(@exact, fn _ -> "x" end, :abort)
    actor = Mote.create(start_supervised!(Mote), module.server())

    for {expression, i} <- Enum.with_index(@exact),
        {elixir, _} = with_io(:stderr, fn -> elixir(expression, [:x]) end),
        n <- 0..10 do
      list = Enum.to_list(1..n//1)

      # Elixir warns of some.
      case with_io(:stderr, fn -> elixir.([list]) end) |> elem(0) do
        {:value, expected} -> assert {expression, Mote.ask!(actor, {i, {list}})} === {expression, expected}
        :raises -> assert {_, {:error, %{reason: :aborted}}} = {expression, Mote.ask(actor, {i, {list}})}
      end
    end
  end

  test "ranges are split as the newest releases do" do
    split = &Interpret.call(Prelude.Range, :split, [&1, &2])
    assert for(n <- [0, 2, 10, -1], do: split.(2..5//-1, n)) === List.duplicate({2..3//-1, 4..5//-1}, 4)
    assert split.(5..2//1, 2) === {5..4//1, 3..2//1}
    assert split.(1..5, -10) === {1..0//1, 1..5}
    assert split.(5..1//-2, 10) === {5..1//-2, -1..1//-2}
  end

  # What Elixir says of a function that returns something else, and of a container that is not there.
  @failing [
    "Map.get_and_update(m, :a, fn _ -> :bad end)",
    "Map.get_and_update!(m, :a, fn _ -> {1} end)",
    "Keyword.get_and_update([a: 1], :a, fn _ -> m end)",
    "Keyword.get_and_update(m, :a, fn _ -> {1, 1} end)",
    "get_and_update_in(m, [:a], fn _ -> :bad end)",
    "get_and_update_in(m.a, fn _ -> :bad end)",
    "get_and_update_in(m[:b][:c], fn x -> {x, x + 1} end)",
    "update_in(m[:b][:c], &(&1 + 1))",
    "update_in(m[:b][:c][:d], &(&1 + 1))",
    "update_in(m, [:b, :c, :d], &(&1 + 1))",
    "update_in(m[:a][:b], &(&1 + 1))",
    "put_in(m[:b][:c][:d], 1)",
    "put_in(m, [:b, :c], 1)",
    "pop_in(m[:a][:b])"
  ]

  test "raise the exceptions of Elixir where something is returned that is no answer, or a container is missing" do
    module = served(@failing, fn _ -> "m" end, :abort)

    for {expression, i} <- Enum.with_index(@failing) do
      plain = raised(fn -> apply(module, :"v#{i}", [%{a: 1}]) end)
      code = Mote.Raised.exception(Mote.Compile.reason(module, :"v#{i}", [%{a: 1}]))
      assert {expression, Exception.message(code)} == {expression, Exception.message(plain)}
      assert code.__struct__ == plain.__struct__
    end
  end

  defp raised(fun) do
    {:value, fun.()}
  rescue
    exception -> exception
  end

  test "white space and characters are those of Elixir" do
    module =
      Mote.Compile.module("""
      defactor server() do
        {customer, {:split, texts}} -> send customer, Enum.map(texts, &String.split/1)
        {customer, {:trim, texts}} -> send customer, Enum.map(texts, &String.trim/1)
        {customer, {:graphemes, texts}} -> send customer, Enum.map(texts, &String.graphemes/1)
      end
      """)

    server = Mote.create(start_supervised!(Mote), module.server())

    for c <- Enum.concat([0..0x3FF, 0x1600..0x16FF, 0x1E00..0x33FF, [0xFEFF, 0x1F600]]), reduce: [] do
      texts -> [<<"a", c::utf8, "b">>, <<c::utf8>>, <<c::utf8, "a", c::utf8, "b", c::utf8>> | texts]
    end
    |> each_hundred(fn texts ->
      assert Mote.ask!(server, {:split, texts}) == Enum.map(texts, &String.split/1)
      assert Mote.ask!(server, {:trim, texts}) == Enum.map(texts, &String.trim/1)
    end)

    for c <- Enum.concat([0..0xD7FF, 0xE000..0x1FFFF, 0xE0000..0xE1000]),
        c not in 0x4E10..0x9FF0,
        reduce: [] do
      texts ->
        [<<"a", c::utf8, "b">>, <<c::utf8, 0x301::utf8>>, <<0x2764::utf8, 0x200D::utf8, c::utf8>> | texts]
    end
    |> each_hundred(fn texts ->
      assert Mote.ask!(server, {:graphemes, texts}) == Enum.map(texts, &String.graphemes/1)
    end)
  end

  defp each_hundred(list, fun), do: list |> Enum.chunk_every(100) |> Enum.each(fun)

  # A few of each class: marks, joiners and selectors, pictures with skins, flags, keycaps, parts of Korean syllables, a sign
  # that stands before a number, control characters, letters.
  @code_points ~c"aé1一\r\n" ++
                 [0, 0xAD, 0x301, 0x308, 0x903, 0xE33, 0x200D, 0xFE0F, 0x20E3] ++
                 [0x1F468, 0x1F469, 0x2764, 0xA9, 0x1F3FD, 0x1F1E9, 0x1F1EA, 0x1F1EB, 0xE0062] ++
                 [0x1100, 0x1161, 0x11A8, 0xAC00, 0xAC01, 0x600]

  property "characters of several code points are those of Elixir" do
    as_elixir =
      as_elixir([:t, :n], """
      {
        String.length(t), String.graphemes(t), String.reverse(t), String.at(t, n), String.slice(t, n, 2),
        String.slice(t, -2..-1), String.split_at(t, n), String.first(t), String.last(t), String.next_grapheme(t),
        String.pad_leading(t, 7), String.split(t, "")
      }
      """)

    check all(code_points <- list_of(member_of(@code_points), max_length: 9), n <- integer(-10..10)) do
      as_elixir.([List.to_string(code_points), n])
    end
  end

  # Not all releases of Unicode have conjuncts of Indic consonants.
  test "what stands between Indic consonants joins them where Unicode says so" do
    alias Mote.Prelude.Characters
    run = fn classes -> Enum.reduce(classes, :consonant, &Interpret.call(Characters, :follows, [&2, &1])) end

    assert run.([:linker, :consonant]) == :consonant
    assert run.([:extending, :linker, :joiner, :consonant]) == :consonant
    assert run.([:linker, :consonant, :linker]) == :consonant_linked
    assert run.([:consonant]) == nil
    assert run.([:joiner, :consonant]) == nil
    assert run.([:linker, :other]) == nil
  end

  test "characters of text that is nearly UTF-8" do
    graphemes = &Interpret.call(Prelude.String, :graphemes, [&1])
    assert "Größe, Привет, こんにちは, 漢字, 한국어, Ωμέγα: 5 €" |> graphemes.() |> length() == 41
    assert graphemes.(<<255, ?a>>) == [<<255>>, "a"]
    assert graphemes.(<<?a, 255, 0x301::utf8>>) == ["a", <<255>>, "\u0301"]
    assert Interpret.call(Prelude.String, :characters, [<<?a, 255, 0x301::utf8>>]) == 3
  end

  test "a key that is missing is not updated" do
    module = Mote.Compile.module("defpure f(list), do: Keyword.update!(list, :b, &(&1 + 1))", "", :abort)
    assert module.f(a: 1, b: 2, b: 3) == [a: 1, b: 3]
    assert_raise KeyError, fn -> module.f(a: 1) end

    assert {:raised, {^module, 2, {Keyword, :fetch!}}, {[a: 1], :b}} =
             Mote.Compile.reason(module, :f, [[a: 1]])
  end

  # Some releases of Elixir are mistaken about ranges with steps.
  test "ranges are disjoint that have no number in common" do
    ranges = for first <- -3..4, last <- -4..5, step <- [-4, -3, -1, 1, 2, 5], do: first..last//step

    for a <- Enum.take_every(ranges, 7), b <- Enum.take_every(ranges, 5) do
      assert {a, b, Interpret.call(Prelude.Range, :disjoint?, [a, b])} == {a, b, not Enum.any?(a, &(&1 in b))}
    end
  end

  test "of a long range no list is made to get at a few of its integers" do
    few = as_elixir([:r], "{Enum.at(r, 5), Enum.fetch(r, -1), Enum.min_max(r), Enum.max(r), Enum.min(r)}")
    for range <- [1..(2 ** 100), (2 ** 120)..(2 ** 121)//3, (2 ** 70)..-5//-7], do: few.([range])

    part = as_elixir([:r], "Enum.slice(r, -3, 2)")
    for range <- [1..(2 ** 100), (2 ** 70)..-5//-7], do: part.([range])
  end

  test "of a long range no more is listed than stands beside something, and its sum is calculated" do
    zips =
      as_elixir([:r, :l], """
      {
        Enum.zip(r, l), Enum.zip(l, r), Enum.zip([l, r, r]), Enum.zip(r, 1..2), Enum.zip([r, 1..3]),
        Enum.zip_with(r, l, &(&1 + &2)), Enum.zip_with([r, l], &Enum.sum/1), Enum.zip_reduce(l, r, 0, &(&1 * &2 + &3))
      }
      """)

    long = 10 ** 15
    for l <- [[], [3, 1, 2]], r <- [1..long, long..1//-3, 5..1//1], do: zips.([r, l])

    sums =
      as_elixir([:n], """
      {Enum.sum(1..n), Enum.sum(n..1//-7), Enum.sum(n..1//1), Enum.sum(-5..n//1_000), Enum.sum(n..n)}
      """)

    for n <- [long, 2 ** 100, 12], do: sums.([n])
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

  # Long enough to be taken apart and put together by parts, and with zeros where parts begin.
  property "long integers are read and written as in Elixir" do
    machine = start_supervised!(Mote)

    module =
      Mote.Compile.module("""
      defpure all(n, text, base, rest) do
        {Integer.digits(n, base), Integer.to_string(n, base), Integer.parse(text <> rest, base), Integer.parse(text <> rest),
          Integer.undigits(Integer.digits(n, base), base), Integer.popcount(abs(n))}
      end

      defactor server() do
        {customer, {n, text, base, rest}} -> send customer, all(n, text, base, rest)
      end
      """)

    actor = Mote.create(machine, module.server())

    large =
      gen all(
            n <- integer(0..3000),
            shift <- integer(0..900),
            odd <- integer(-200..200),
            do: n * 2 ** shift + odd
          )

    factors = list_of(large, max_length: 4)

    check all(
            factors <- factors,
            base <- integer(2..36),
            zeros <- integer(0..40),
            rest <- member_of(["", "_", "é", " 1"])
          ) do
      n = Enum.product(factors)
      text = String.duplicate("0", zeros) <> Integer.to_string(abs(n), base)

      expected =
        {Integer.digits(n, base), Integer.to_string(n, base), Integer.parse(text <> rest, base),
         Integer.parse(text <> rest), n, abs(n) |> Integer.digits(2) |> Enum.sum()}

      assert Interpret.call(module, :all, [n, text, base, rest]) == expected
      assert Mote.ask!(actor, {n, text, base, rest}) == expected
    end
  end

  # What takes time in proportion to the square of their length was more than a turn has fuel for.
  test "integers of a million bits are read, written and counted within one turn" do
    module =
      Mote.Compile.module("""
      defpure big(), do: Bitwise.bsl(1, 1_000_000) - 1
      defactor server() do
        {customer, {:digits, base}} -> send customer, length(Integer.digits(big(), base))
        {customer, {:text, base}} -> send customer, byte_size(Integer.to_string(big(), base))
        {customer, :popcount} -> send customer, Integer.popcount(big())
        {customer, {:undigits, digits, base}} -> send customer, Integer.undigits(digits, base)
        {customer, {:parse, text, base}} -> send customer, elem(Integer.parse(text, base), 0)
        {customer, {:parse, text}} -> send customer, String.to_integer(text)
      end
      """)

    actor = Mote.create(start_supervised!(Mote), module.server())
    for base <- [2, 4, 16, 32], do: assert(Mote.ask!(actor, {:text, base}, timeout: 60_000) > 1)
    assert Mote.ask!(actor, {:digits, 2}, timeout: 60_000) == 1_000_000
    assert Mote.ask!(actor, :popcount, timeout: 60_000) == 1_000_000

    for base <- [2, 3, 10, 16], text = "1" <> String.duplicate("0", 200_000) do
      n = base ** 200_000
      assert Mote.ask!(actor, {:parse, text, base}, timeout: 60_000) == n
      assert Mote.ask!(actor, {:undigits, [1 | List.duplicate(0, 200_000)], base}, timeout: 60_000) == n
      if base == 10, do: assert(Mote.ask!(actor, {:parse, text}, timeout: 60_000) == n)
    end
  end

  defp compiled(cases, n, errors \\ :undefined),
    do: served(cases, &parameters/1, errors, "@n #{n}; _ = @n; require Integer; require Record")

  # A function for each case, and a behaviour that calls it for who asks.
  defp served(cases, parameters, errors \\ :undefined, head \\ "") do
    functions =
      for {expression, i} <- Enum.with_index(cases),
          do: "defpure v#{i}(#{parameters.(expression)}) do\n#{expression}\nend\n"

    clauses =
      for {expression, i} <- Enum.with_index(cases) do
        names = parameters.(expression)
        "{customer, {#{i}, {#{names}}}} -> send customer, v#{i}(#{names})\n"
      end

    Mote.Compile.module("#{functions}\ndefactor server() do\n#{clauses}\nend", head, errors)
  end

  # Checks an expression: with these values of its variables it is what it is in Elixir, as plain Elixir and on a machine.
  defp as_elixir(names, expression) do
    module = served([expression], fn _ -> Enum.join(names, ", ") end)
    actor = Mote.create(start_supervised!({Mote, id: make_ref()}), module.server())

    fn values ->
      {expected, _} = Code.eval_string(expression, Enum.zip(names, values))
      assert apply(module, :v0, values) == expected
      assert Mote.ask!(actor, {0, List.to_tuple(values)}) == expected
    end
  end

  defp parameters(expression), do: expression |> Variables.of() |> Enum.join(", ")

  defp check(expression, i, module, actors) do
    variables = Variables.of(expression)
    {elixir, later?} = {elixir(expression, variables), later?(expression)}

    {:ok, _} =
      StreamData.check_all(
        StreamData.fixed_list(Enum.map(variables, &Variables.generator/1)),
        [initial_seed: :os.timestamp(), max_runs: @runs],
        fn arguments ->
          bindings = Enum.zip(variables, arguments)

          # What this release does not have must be the same everywhere.
          expected =
            if later?, do: {:value, Interpret.call(module, :"v#{i}", arguments)}, else: elixir.(arguments)

          # Where Elixir raises is for the other test.
          with {:value, value} <- expected do
            place = "#{expression} of #{inspect(bindings, charlists: :as_lists)}"
            assert {place, Interpret.call(module, :"v#{i}", arguments)} === {place, value}

            for actor <- actors do
              assert {place, Mote.ask(actor, {i, List.to_tuple(arguments)})} === {place, {:ok, value}}
            end
          end

          {:ok, nil}
        end
      )
  end

  # What Elixir makes of values of these names: `{:value, value}` or `:raises`.
  defp elixir(expression, names) do
    names = Enum.join(names, ", ")
    code = "require Integer; require Record\nfn #{names} -> _ = {#{names}}; #{expression} end"
    {function, _} = Code.eval_string(code)
    &attempt(function, &1)
  end

  defp attempt(function, values) do
    {:value, apply(function, values)}
  rescue
    _ -> :raises
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
