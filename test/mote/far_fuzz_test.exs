defmodule Mote.FarFuzzTest do
  # What a porter takes in is not to be trusted: any term may stand where an entry, an address or a number is expected.
  use ExUnit.Case, async: true
  use ExUnitProperties

  import Bitwise
  import ExUnit.CaptureLog
  import Mote.Eventually

  alias Mote.{Actors, Address, Customer, FarRig}
  alias Mote.Far.{Gate, Lease, Packing, Porter}

  setup_all do
    {:ok, machine} = start_supervised({Mote, name: __MODULE__.Machine})
    echo = Mote.create(machine, Actors.echo())
    %{machine: machine, echo: echo}
  end

  # As they are sent: with addresses and customers of this node, of others, and of nowhere.
  defp references(echo) do
    %{machine: elsewhere} = address = FarRig.address_of("elsewhere")

    [
      echo,
      %{echo | key: :binary.copy(echo.key)},
      %{echo | key: <<0::576>>},
      address,
      %Customer{ref: elsewhere},
      %Customer{ref: {elsewhere, address.key}}
    ]
  end

  defp entries(echo) do
    %{machine: machine, key: key} = echo
    tag = make_ref()

    [
      {:send, machine, key, nil, :message},
      {:send, machine, key, :main, {self(), [echo, %{echo => 1}]}},
      {:many, machine, key, nil, [1, 2, 3]},
      {:answer, %Customer{ref: tag}, :answer},
      {:reply, tag, {tag, :answer}},
      {:ask, machine, key, nil, {:request, echo}, tag},
      {:request, machine, key, {:request, echo}, tag},
      {:cancel, tag},
      {:create, :create, [__MODULE__.Machine, Actors.echo(), []], tag},
      {:create, :keep, [echo], tag},
      {:create, :move, [echo, __MODULE__.Machine, []], tag},
      {:create, :move_all, [[echo], __MODULE__.Machine, []], tag},
      {:create, :merge, [__MODULE__.Shards, [{:key, echo, echo}]], tag},
      {:lend, machine, key, 50},
      {:let_go, self(), [1, 2]}
    ]
  end

  # Something that is in the parcel, or something like it, is something else.
  defp mutated(parcel, echo) do
    strange =
      one_of([
        resize(term(), 12),
        member_of(references(echo)),
        member_of(entries(echo)),
        integer(-5..5),
        constant(1 <<< 80),
        constant([1 | 2]),
        constant(<<1::3>>),
        constant(%{__struct__: Address}),
        constant(%{__struct__: Customer, ref: 5}),
        constant({:create, :exit, [:kill], make_ref()}),
        constant({:lend, 1, 2, 3})
      ])

    gen all(steps <- list_of({integer(0..1_000), strange}, max_length: 4)) do
      Enum.reduce(steps, parcel, fn {place, with_what}, parcel ->
        {parcel, _} = put(parcel, rem(place, size(parcel)), with_what)
        parcel
      end)
    end
  end

  # How many places a term has; and that place replaced. What is below zero has been replaced before.
  defp size(term), do: term |> put(-1, nil) |> elem(1)

  defp put(term, place, what, seen \\ 0)
  defp put(_term, place, what, seen) when place == seen, do: {what, seen + 1}

  defp put(tuple, place, what, seen) when is_tuple(tuple) do
    {list, seen} = put_all(Tuple.to_list(tuple), place, what, seen + 1)
    {List.to_tuple(list), seen}
  end

  defp put([_ | _] = list, place, what, seen) do
    if List.improper?(list), do: {list, seen + 1}, else: put_all(list, place, what, seen + 1)
  end

  defp put(%{__struct__: _} = map, place, what, seen) do
    {list, seen} = map |> Map.to_list() |> put_all(place, what, seen + 1)
    if Enum.all?(list, &match?({_, _}, &1)), do: {Map.new(list), seen}, else: {list, seen}
  end

  defp put(other, _place, _what, seen), do: {other, seen + 1}

  defp put_all(list, place, what, seen), do: Enum.map_reduce(list, seen, &put(&1, place, what, &2))

  defp porter do
    {:ok, porter} = GenServer.start(Porter, self())
    assert_receive {:mote_welcome, ^porter, _last}, 10_000
    porter
  end

  property "a mutated parcel ends the connection at most", %{machine: machine, echo: echo} do
    check all(
            chosen <- list_of(member_of(entries(echo)), max_length: 6),
            announced <- list_of({integer(0..3), member_of(references(echo))}, max_length: 3),
            {:mote_parcel, _, _, _, _} = whole <-
              constant({:mote_parcel, 1, true, announced, Packing.pack(chosen)}),
            parcel <- resize(mutated(whole, echo), 40),
            max_runs: 600
          ) do
      log =
        capture_log([level: :error], fn ->
          porter = porter()
          ref = Process.monitor(porter)
          send(porter, parcel)
          send(porter, {:mote_parcel, 2, true, [], {{}, []}})

          receive do
            {:DOWN, ^ref, _, _, reason} ->
              assert reason == :normal

            {:mote_taken, 2} ->
              :ok

              # The first one had been one of another number, or no parcel at all: then there is a gap, or it was taken for a stray.
          after
            2_000 -> flunk("neither taken in nor ended: #{inspect(parcel)}")
          end

          Process.exit(porter, :kill)
        end)

      refute log =~ "Mote.Far.", log
      assert Mote.ask!(echo, :still) == :still
      assert Process.alive?(machine)
    end

    for process <- [Gate, Lease, Mote.Far.Supervisor], do: assert(Process.alive?(Process.whereis(process)))
    # These porters are of no other node.
    refute is_map_key(Mote.nodes(), node())
    # What it had asked for, and leases, are over.
    assert eventually(fn -> Mote.info(machine).questions.open == 0 end)
  end

  property "a porter goes on, or ends, whatever message comes that is not a parcel", %{echo: echo} do
    check all(
            tag <-
              member_of([:mote_parcel, :mote_dropped, :mote_hello, :mote_due, :mote_rest, :mote_welcome]),
            rest <- list_of(one_of([resize(term(), 12), member_of(references(echo))]), max_length: 4),
            max_runs: 300
          ) do
      message = List.to_tuple([tag | rest])

      capture_log(fn ->
        porter = porter()
        ref = Process.monitor(porter)
        send(porter, message)
        send(porter, {:mote_parcel, 1, true, [], {{}, []}})

        receive do
          {:DOWN, ^ref, _, _, reason} -> assert reason == :normal
          {:mote_taken, 1} -> :ok
        after
          2_000 -> flunk("neither taken in nor ended: #{inspect(message)}")
        end

        Process.exit(porter, :kill)
      end)
    end
  end
end
