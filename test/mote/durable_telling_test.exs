defmodule Mote.DurableTellingTest do
  # What a durable machine tells processes and callers: nothing before it is on the disk, and each thing once, in each of its lives.
  use ExUnit.Case, async: true

  import Mote.Eventually
  import Mote.Ledger, only: [kill: 1]
  import Mote.OwnFolder, only: [own_folder: 1, hear_exits: 1]

  alias Mote.{Durable, Ledger, Telling}

  setup [:own_folder, :hear_exits]

  test "a turn that tells something follows from what is on the disk, also while a machine starts", %{
    dir: dir
  } do
    me = self()
    resolve = fn %{kind: :pid} -> {:ok, me} end
    {:ok, machine} = Mote.start_link(durable: [dir: dir])
    teller = Mote.create(machine, Telling.teller(me, %{}))
    {:ok, _} = Durable.checkpoint(machine, %{teller: teller})
    :ok = Mote.send(teller, :tick)

    Enum.reduce(1..8, {machine, %{}}, fn _, {machine, told} ->
      assert_receive {:told, _, _}
      kill(machine)
      {:ok, machine} = Mote.start_link(durable: [dir: dir], resolve: resolve)
      draws = Mote.ask!(Mote.names(machine).teller, :draws)
      told = all_told(told)
      wrong = for {n, draw} <- told, is_map_key(draws, n), draws[n] != draw, do: {n, draw, draws[n]}
      assert wrong == []
      {machine, told}
    end)
    |> elem(0)
    |> Mote.stop()
  end

  defp all_told(told) do
    receive do
      {:told, n, draw} -> told |> Map.put(n, draw) |> all_told()
    after
      0 -> told
    end
  end

  test "callers that wait when an image is made are told by the turns that run again, which do the same", %{
    dir: dir
  } do
    {:ok, machine} = Mote.start_link(durable: [dir: dir])
    line = Mote.create(machine, Telling.line([]))
    callers = for _ <- 1..5, do: Task.async(fn -> Mote.ask(line, :wait, :infinity) end)
    eventually(fn -> Mote.ask!(line, :count) == 5 end)
    {:ok, _} = Durable.checkpoint(machine)
    cell = Mote.ask!(line, :tell)
    assert Mote.ask!(cell, :value) == 5
    told = for caller <- callers, do: caller |> Task.await() |> elem(1)
    kill(machine)
    {:ok, machine} = Mote.start_link(durable: [dir: dir])
    assert Mote.ask!(cell, :value) == 5
    assert for(cell <- told, do: Mote.ask!(cell, :value)) == List.duplicate(:told, 5)
    assert Mote.ask!(line, :count) == 0
    Mote.stop(machine)
  end

  test "messages to processes have numbers that go on in the next life", %{dir: dir} do
    {:ok, machine, ledger} = Ledger.start(dir, numbered: true)
    for n <- 1..3, do: Mote.send(ledger, {:tell, self(), n})
    for n <- 1..3, do: assert_receive({:mote_told, ^n, ^n})
    assert {:ok, %{told: 3}} = Durable.info(machine)
    kill(machine)
    {:ok, machine, ledger} = Ledger.start(dir, numbered: true)
    Mote.send(ledger, {:tell, self(), :next})
    assert_receive {:mote_told, 4, :next}
    refute_received {:mote_told, _, _}
    Mote.stop(machine)
  end
end
