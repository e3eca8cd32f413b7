defmodule Mote.Dashboard.LookupTest do
  # The actor of a key that a person has written.
  use ExUnit.Case, async: true

  alias Mote.Dashboard.Lookup

  defmodule Rooms do
    use Mote.Behaviour

    defactor room(name) do
      {customer, :name} -> send customer, name
    end

    defdirectory rooms() do
      name -> room(name)
    end
  end

  setup do
    machine = start_supervised!(Mote)
    start_supervised!({Mote.Directory, name: __MODULE__.Named, machine: machine, start: Rooms.rooms()})
    %{name: inspect(__MODULE__.Named)}
  end

  test "a key is a literal of Elixir, or the text itself", %{name: name} do
    written = %{
      "lobby" => "lobby",
      "\"lobby\"" => "lobby",
      "12" => 12,
      "-1.5" => -1.5,
      "{12, 3}" => {12, 3},
      "{1, :ok, [nil]}" => {1, :ok, [nil]},
      "%{a: 1}" => %{a: 1},
      ":error" => :error,
      "Mote.Directory" => Mote.Directory,
      "f(1)" => "f(1)",
      "{1, x}" => "{1, x}",
      "\"\#{1}\"" => "\"\#{1}\"",
      "] [" => "] [",
      "\xff" => "\xff"
    }

    for {text, key} <- written do
      assert {:error, 404, _} = Lookup.find(name, text)
      address = Mote.Directory.start_actor(__MODULE__.Named, key)
      assert Lookup.find(name, text) == {:ok, address}, "#{inspect(text)} is #{inspect(key)}"
      assert Mote.Directory.delete(__MODULE__.Named, key)
    end
  end

  test "makes no atoms, and says which directories there are", %{name: name} do
    word = "nobody_has_this_word_#{System.unique_integer([:positive])}"
    assert {:error, 404, text} = Lookup.find(word, "1")
    assert text =~ name

    for key <- [":" <> word, word, "{#{word}}", "%{#{word}: 1}", String.capitalize(word)],
        do: Lookup.find(name, key)

    assert_raise ArgumentError, fn -> String.to_existing_atom(word) end

    for {directory, key} <- [{nil, "1"}, {name, ""}, {"", "1"}],
        do: assert({:error, 400, _} = Lookup.find(directory, key))
  end
end
