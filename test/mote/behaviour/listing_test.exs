defmodule Mote.Behaviour.ListingTest do
  # The documentation lists what bodies may call: all of it, and nothing else.
  use ExUnit.Case, async: true

  require Integer
  require Record

  alias Mote.Behaviour.{Listing, Syntax}

  # Where somebody would look for something to call.
  @modules [
             Kernel,
             Kernel.SpecialForms,
             Enum,
             Map,
             List,
             Tuple,
             String,
             Atom,
             Integer,
             Float,
             Bitwise,
             Record
           ] ++
             [
               System,
               Process,
               Range,
               Keyword,
               MapSet,
               Stream,
               Access,
               Function,
               Mote,
               Mote.Vector,
               Mote.Timer
             ] ++
             [:math, :rand, :binary, :lists, :maps, :queue, :timer]

  # Syntax, which the documentation tells of in its own words, what is for macros, and what Elixir warns of.
  @syntax [%{}: 1, <<>>: 1, {}: 1, __aliases__: 1, __block__: 1, with: 1] ++
            [@: 1, alias!: 1, var!: 1, var!: 2, to_char_list: 1, raise: 1, raise: 2, throw: 1]

  defp accepted?(module, name, arguments) do
    called = if module in [nil, Kernel, Kernel.SpecialForms], do: name, else: {:., [], [module, name]}

    # A call of something else is a matter of the next pass, which only knows functions made with defpure: those of
    # the prelude are called in place of Elixir's.
    case Syntax.expr({called, [], arguments}, %{__ENV__ | file: "test.ex"}) do
      {:call, _, {to, _, _}, _} -> String.starts_with?(inspect(to), "Mote.Prelude.")
      _ -> true
    end
  rescue
    error -> if refused?(Exception.message(error), module, name, length(arguments)), do: :never, else: false
  catch
    _, _ -> false
  end

  # Whatever its arguments are.
  defp refused?(message, module, name, arity),
    do: message =~ " #{inspect(module)}.#{name}/#{arity} is not available in a behaviour"

  # The second half of two words.
  defp accepted?({nil, :again, 0}) do
    behind =
      quote(
        do:
          (
            become(x())
            again()
          )
      )

    match?({:again, _, {:become, _, _, _}}, Syntax.expr(behind, %{__ENV__ | file: "test.ex"}))
  end

  # Arguments of every kind that something wants in some place.
  defp accepted?({module, name, arity}) do
    Enum.reduce_while(arguments(arity), false, fn arguments, _ ->
      case accepted?(module, name, arguments) do
        false -> {:cont, false}
        answer -> {:halt, answer == true}
      end
    end)
  end

  defp arguments(0), do: [[]]
  defp arguments(1), do: Enum.map([{:x, [], nil} | special()], &[&1])

  # What is special comes first or last.
  defp arguments(arity) do
    x = {:x, [], nil}

    between = List.duplicate(x, arity - 2)
    one = quote(do: fn y -> y end)
    two = quote(do: fn y, z -> {y, z} end)

    betweens =
      [between, List.duplicate(one, arity - 2)] ++
        if(arity > 2, do: [List.replace_at(between, -1, two)], else: []) ++
        if(arity == 4, do: [[one, two]], else: [])

    for first <- [x | special()],
        between <- betweens,
        last <- [x | special()],
        do: [first] ++ between ++ [last]
  end

  defp special do
    x = {:x, [], nil}

    functions =
      [quote(do: fn y -> y end), quote(do: fn y, z -> {y, z} end)] ++
        [quote(do: fn -> 1 end), quote(do: fn y, z, u -> {y, z, u} end)]

    [
      :second,
      [x],
      quote(do: unquote(x).a[unquote(x)]),
      quote(do: 1..2),
      [do: x],
      [sponsor: x],
      quote(do: abs()),
      {:y, [], nil},
      :ascii | functions
    ]
  end

  test "everything that is listed is accepted" do
    for entry <- Listing.all(), do: assert(accepted?(entry), "#{inspect(entry)} is listed, and refused")
    assert Enum.uniq(Listing.all()) == Listing.all()
  end

  test "everything that is accepted is listed" do
    listed = MapSet.new(Listing.all(), fn {module, name, arity} -> {module || Kernel, name, arity} end)

    accepted =
      for module <- @modules,
          exported <- [:functions, :macros],
          {name, arity} <- exported(module, exported),
          # None of the list has more arguments.
          arity <= 5,
          module not in [Kernel, Kernel.SpecialForms] or {name, arity} not in @syntax,
          accepted?({module, name, arity}),
          do: {if(module == Kernel.SpecialForms, do: Kernel, else: module), name, arity}

    assert Enum.reject(accepted, &(&1 in listed)) == []
    assert length(accepted) > 120
  end

  # Other modules' functions are left out one by one, and the name of what is there that is most like it is told.
  @told [Stream, Regex, OptionParser, Process, Task, Agent] ++
          [GenServer, System, File, IO, Application, Registry, Supervisor] ++
          [:unicode] ++
          [:io_lib, :zlib, :counters, :atomics, :ets, :timer, :re, :os, :file]

  test "what to write instead is told of every function that is left out" do
    listed = MapSet.new(Listing.all())

    for module <- @told,
        {name, arity} <- exported(module, :functions),
        {module, name, arity} not in listed do
      told = Syntax.Hints.remote(module, name, arity)
      assert told =~ "#{inspect(module)}.#{name}/#{arity} is not available in a behaviour", told
      refute told =~ "listed in Mote.Behaviour", told
    end

    for {module, name, arity} <- [
          {Enum, :partition, 2},
          {Map, :size, 1},
          {Keyword, :map, 2}
        ],
        do: assert(Syntax.Hints.remote(module, name, arity) =~ ~r/: write (Enum|map_size|Keyword)/)
  end

  # New releases of Elixir bring new functions.
  test "no function of the pure modules is forgotten" do
    listed = MapSet.new(Listing.all())

    [_, page] =
      "../../../guides/language.md"
      |> Path.expand(__DIR__)
      |> File.read!()
      |> String.split("## What is left out")

    for module <- [Enum, List, Map, MapSet, Keyword, Tuple, String, Integer, Float, Range, Bitwise],
        deprecated = module.__info__(:deprecated) |> Enum.map(&elem(&1, 0)),
        {name, arity} <- module.__info__(:functions) ++ module.__info__(:macros),
        not String.starts_with?(Atom.to_string(name), "__"),
        {module, name, arity} not in listed and {name, arity} not in deprecated do
      function = "#{inspect(module)}.#{name}/#{arity}"

      assert Syntax.Elsewhere.reason(module, name, arity),
             "#{function} is not available, and nothing says what to write instead"

      assert page =~ ~r/`(\w+\.)?#{Regex.escape(to_string(name))}\//,
             "#{function} is not among what is left out"
    end
  end

  defp exported(module, what) do
    case {Code.ensure_loaded(module), function_exported?(module, :__info__, 1), what} do
      {_, true, what} -> module.__info__(what)
      {_, false, :functions} -> module.module_info(:exports)
      {_, false, :macros} -> []
    end
  end

  test "what this release of Elixir has no page for is not linked to" do
    unlinked = Listing.unlinked()
    # Deprecated in 1.12 and newer than 1.18.
    assert "Bitwise.^^^/2" in unlinked
    assert "String.count/2" in unlinked == not function_exported?(String, :count, 2)

    for name <- ~w(Enum.map/2 Enum.join/1 Integer.is_odd/1 Mote.Vector.dot/2 :math.sin/1),
        do: refute(name in unlinked)

    for name <- unlinked, do: assert("`#{name}`" in Enum.map(Listing.all(), &Listing.spelling/1))
  end

  test "the list is in the documentation, where errors point to" do
    {:docs_v1, _, _, _, %{"en" => moduledoc}, _, _} = Code.fetch_docs(Mote.Behaviour)
    for entry <- Listing.all(), do: assert(moduledoc =~ Listing.spelling(entry))
    assert moduledoc =~ "## What bodies may call"
    assert Syntax.Hints.functions() =~ "listed in Mote.Behaviour"
  end
end
