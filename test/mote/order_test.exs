defmodule Mote.OrderTest do
  # Messages of one actor to one process arrive in order, whoever runs the turns: also where the process keeps its messages
  # off its heap, and the BEAM sorts what comes by who sends.
  use ExUnit.Case, async: true

  # The BEAM warns of what it is asked to do for this.
  @moduletag :capture_log

  alias Mote.Sorting

  defmodule Actors do
    use Mote.Behaviour, errors: :undefined

    # Numbers what it sends: for who asks, for who only says so, and many at once.
    defactor log(to, n) do
      {customer, :tick} ->
        send to, {:number, n}
        send customer, n
        become log(to, n + 1)

      :tick ->
        send to, {:number, n}
        become log(to, n + 1)

      {:ticks, k} ->
        for i <- n..(n + k - 1), do: send(to, {:number, i})
        become log(to, n + k)
    end
  end

  setup do
    %{machine: start_supervised!(Mote)}
  end

  defp askers(count) do
    for _ <- 1..count do
      spawn_link(fn ->
        loop = fn loop ->
          receive do
            {:ask, actor, from} ->
              send(from, {:answer, Mote.ask(actor, :tick, 60_000)})
              loop.(loop)
          end
        end

        loop.(loop)
      end)
    end
  end

  defp ask_by(asker, actor) do
    send(asker, {:ask, actor, self()})
    assert_receive {:answer, {:ok, _}}, 60_000
  end

  test "many processes ask, one after the other, and stand in for the thread", %{machine: machine} do
    sorting = Sorting.start()
    log = Mote.create(machine, Actors.log(sorting, 0))
    askers = askers(40)
    for _ <- 1..50, asker <- askers, do: ask_by(asker, log)
    assert Mote.info(machine).counters.stand_ins > 0
    assert Sorting.numbers(sorting) == Enum.to_list(0..1_999)
  end

  test "some ask, some only send, and some make the actor send in a rush", %{machine: machine} do
    sorting = Sorting.start()
    log = Mote.create(machine, Actors.log(sorting, 0))
    askers = askers(5)

    for _ <- 1..40 do
      Enum.each(askers, &ask_by(&1, log))
      Mote.send(log, :tick)
      Mote.drain(machine, 60_000)
      Mote.send(log, {:ticks, 100})
      Mote.drain(machine, 60_000)
      Mote.send(log, :tick)
      Mote.drain(machine, 60_000)
    end

    assert Mote.info(machine).counters.stand_ins > 0
    assert Sorting.numbers(sorting) == Enum.to_list(0..(40 * 107 - 1))
  end
end
