defmodule Mote.LibraryTest do
  # The front door: every standard behaviour is behind it, for Elixir and for behaviours, and says so.
  use ExUnit.Case, async: true

  alias Mote.{Library, Services}

  doctest Mote.Library

  @themes [Library.Plumbing, Library.Parallel, Library.Gates, Library.Cells, Library.Time, Library.Hubs]

  # What is documented in the modules of the themes.
  defp documented(module) do
    {:docs_v1, _, _, _, _, _, docs} = Code.fetch_docs(module)

    for {{:function, name, arity}, _, _, %{}, _} <- docs,
        {name, arity} not in [{:__mote__, 1}, {:__mote_turn__, 3}],
        do: {name, arity}
  end

  test "every documented behaviour of a theme has a name here, and every name stands for one" do
    theirs = Enum.flat_map(@themes, &documented/1)

    assert Enum.sort([{:sink, 0} | theirs -- [ignoring: 0]]) ==
             Enum.sort(Map.keys(Library.__mote__(:delegates)))

    assert Library.__mote__(:behaviours) == []
  end

  test "the overview names all of them" do
    {:docs_v1, _, _, _, %{"en" => overview}, _, _} = Code.fetch_docs(Library)

    for {{name, arity}, {module, _, _}} <- Library.__mote__(:delegates) do
      assert overview =~ "`#{name}/#{arity}`", "#{name}/#{arity} is missing"
      [_, section] = String.split(overview, "`#{inspect(module)}`\n", parts: 2)
      assert section |> String.split("\n  ##") |> hd() |> String.split("\n##") |> hd() =~ "`#{name}/#{arity}`"
    end
  end

  test "behaviours create them and become them" do
    {:ok, machine} = Mote.start_link()
    maker = Mote.create(machine, Services.maker())
    Mote.send(Mote.ask!(maker, {:fwd, self()}), :hello)
    assert_receive :hello
    counter = Mote.ask!(maker, :counter)
    assert Mote.ask!(Mote.ask!(maker, {:serializer, counter}), {:add, 2}) == 7
    Mote.send(maker, {nil, {:become, 42}})
    assert Mote.ask!(maker, :anything) == 42
    # None of it is code of the front door itself.
    refute Library in Services.__mote__(:imports)
  end

  test "the whole library can be loaded ahead" do
    {:ok, machine} = Mote.start_link()
    assert Mote.load(machine, Library) == :ok
    assert Mote.info(machine).native.refused == 0
  end
end
