defmodule Mote.StashedStateTest do
  # What an actor has stashed is no capture that anybody has written: whoever looks at it sees the others only.
  use ExUnit.Case, async: true

  import Mote.Compile, only: [warnings: 1]

  defmodule Party do
    use Mote.Behaviour

    defactor locked(guests) do
      :open -> become open(guests)
      {:expect, n} -> become guests: guests + n
      _ -> stash()
    end

    defactor open(guests) do
      {:guest, n} -> become guests: guests + n
      {customer, :guests} -> send customer, guests
    end

    defactor large(list) do
      :open -> become open(0)
      _ -> stash()
    end

    defdirectory parties() do
      n -> locked(n)
    end
  end

  setup do
    machine = start_supervised!(Mote)
    actor = Mote.create(machine, Party.locked(1))
    for n <- 1..3, do: Mote.send(actor, {:guest, n})
    Mote.drain(machine)
    %{machine: machine, actor: actor}
  end

  test "a look at one actor", %{machine: machine, actor: actor} do
    assert Mote.peek(actor) == {:ok, {:locked, 1}}
    # Too much for a caller that stands in for the thread.
    list = Enum.to_list(1..10_000)
    large = Mote.create(machine, Party.large(list))
    Mote.send(large, :kept)
    Mote.drain(machine)
    assert {:ok, {:large, [1 | _]}} = Mote.peek(large)
    # It is still there.
    Mote.send(actor, :open)
    assert Mote.ask!(actor, :guests) == 7
  end

  test "walks through many", %{machine: machine} do
    sum = fn {:locked, guests}, sum -> sum + guests end
    assert Mote.fold(machine, {Party, :locked}, 0, sum) == 1
    parties = Mote.Directory.start(machine, Party.parties())
    for n <- 1..5, do: Mote.Directory.send(parties, n, {:guest, n})
    Mote.drain(machine)
    assert Mote.Directory.peek(parties, 2) == {:ok, {:locked, 2}}
    assert Mote.Directory.fold(parties, 0, fn key, {:locked, key}, sum -> sum + key end) == 15
    assert [{4, {:locked, 4}}] = Mote.Directory.select(parties, fn _, {:locked, n} -> n == 4 end)
  end

  test "names of behaviours", %{machine: machine} do
    assert {Party, :locked, 1} in Enum.map(Mote.behaviours(machine, for: 0), & &1.behaviour)
    assert [%{behaviour: {Party, :locked, 1}}] = Mote.top(machine, by: :bytes)
  end

  @tag :tmp_dir
  test "images, which go on with it", %{machine: machine, actor: actor, tmp_dir: folder} do
    path = Path.join(folder, "party.image")
    {:ok, image} = Mote.save(machine, path, names: %{party: actor})
    assert [%{behaviour: {Party, :locked, 1}}] = image.behaviours
    assert {:ok, %{behaviours: [%{behaviour: {Party, :locked, 1}}]}} = Mote.Image.read(path)
    other = start_supervised!({Mote, image: path}, id: :other)
    party = Mote.names(other).party
    Mote.send(party, :open)
    assert Mote.ask!(party, :guests) == 7
  end

  test "properties of proofs" do
    party = fn machine ->
      actor = Mote.create(machine, Party.locked(1))
      for message <- [{:guest, 2}, :open, {:guest, 3}], do: Mote.send(actor, message)
      actor
    end

    never = fn [{name, guests}] -> name in [:locked, :open] and guests <= 6 end
    assert {:proved, _} = Mote.Test.prove(party, fn _ -> true end, always: {&[&1], never})
  end

  test "warnings of the compiler" do
    told =
      ExUnit.CaptureIO.capture_io(:stderr, fn ->
        Code.compile_string("""
        defmodule Mote.StashedStateTest.Warned do
          use Mote.Behaviour

          defactor cell(a) do
            {:set, b} -> c = b
            :open -> become cell(a)
            _ -> stash()
          end
        end
        """)
      end)

    assert told =~ "cell/1"
    refute told =~ "cell/2"
    assert warnings("defactor cell(a) do\n  _ -> stash()\nend") != []
  end
end
