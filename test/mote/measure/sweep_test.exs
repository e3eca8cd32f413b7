defmodule Mote.Measure.SweepTest do
  # Mote.Measure.sweep: every parameter in every sponsor, as often as asked for; its progress, its mistakes.
  use ExUnit.Case, async: true

  alias Mote.{Error, Measure}
  alias Mote.Measure.Table

  defmodule Devices do
    use Mote.Behaviour, errors: :undefined

    defactor nap do
      {customer, ms} when is_integer(ms) -> send_after(ms, customer, :awake)
    end

    defactor told(witness) do
      {customer, n} ->
        send witness, {:asked, n}
        send customer, :done
    end
  end

  test "a table has each parameter, sponsor and run" do
    table = Measure.sweep(Devices.nap(), param: 2..4, runs: 2, per: &(&1 * 10), progress: false)
    assert table.columns == ~w(param sponsor run count value)
    assert table.title == "nap" and table.unit == "ns"
    named = for row <- table.rows, do: Enum.take(row, 4)

    assert named ==
             for(ms <- 2..4, sponsor <- ["single", "multi"], run <- 1..2, do: [ms, sponsor, run, ms * 10])

    # Divided: a tenth of a nap's millisecond each.
    for value <- Table.column(table, :value), do: assert(is_float(value) and value >= 1.0e5)
    assert length(Table.summary(table).rows) == 6
  end

  test "without per the values are nanoseconds, and every run is one question" do
    table = Measure.sweep(Devices.told(self()), param: [7, 7, 1], sponsor: :multi, runs: 3, progress: false)
    assert table.columns == ~w(param sponsor run value)

    assert for(row <- table.rows, do: Enum.take(row, 3)) ==
             for(n <- [7, 1], run <- 1..3, do: [n, "multi", run])

    for value <- Table.column(table, :value), do: assert(is_integer(value) and value > 0)
    for n <- [7, 7, 7, 1, 1, 1], do: assert_receive({:asked, ^n})
    refute_receive _, 10
  end

  test "progress has a line for every point, and leaves the mailbox alone" do
    me = self()
    Measure.sweep(Devices.nap(), param: [1, 2], runs: 1, sponsor: :single, progress: &send(me, {:line, &1}))
    assert_receive {:line, "1 single: " <> first}
    assert first =~ ~r/^[\d,]+ ns ± 0 \(1 to go\)$/
    assert_receive {:line, "2 single: " <> second}
    assert second =~ ~r/^[\d,]+ ns ± 0$/
    refute_receive _, 10

    lines =
      ExUnit.CaptureIO.capture_io(:stderr, fn ->
        Measure.sweep(Devices.nap(), param: [1], runs: 1, sponsor: :multi)
      end)

    # Others may say something there, too.
    assert lines =~ ~r/^  1 multi: [\d,]+ ns/m
  end

  test "a machine of one's own goes on afterwards" do
    machine = start_supervised!({Mote, sponsors: [home: [threads: 1], away: [threads: 2]]})
    opts = [param: [1], runs: 1, machine: machine, progress: false]
    assert Table.column(Measure.sweep(Devices.nap(), opts), :sponsor) == ["home"]

    assert Table.column(Measure.sweep(Devices.nap(), [sponsor: :away, home: :home] ++ opts), :sponsor) == [
             "away"
           ]

    assert Mote.sponsors(machine) == [:home, :away]
    # A home may have several threads.
    assert [ns] = Table.column(Measure.sweep(Devices.nap(), [home: :away] ++ opts), :value)
    assert ns >= 1.0e6

    for wrong <- [[sponsor: :gone], [home: :gone]] do
      assert %Error{reason: :unknown_sponsor} = catch_error(Measure.sweep(Devices.nap(), wrong ++ opts))
    end
  end

  test "a device that does not answer ends the sweep" do
    opts = [param: [:no_number], runs: 1, progress: false]
    assert %Error{reason: :broken_promise} = catch_error(Measure.sweep(Devices.nap(), opts))
  end

  test "mistakes are explained" do
    nap = Devices.nap()

    for {message, device, opts} <- [
          {~r/^expected a behaviour to measure, such as MyDevice.device\(\), got: :nap/, :nap, [param: [1]]},
          {~r/^sweep needs :param/, nap, []},
          {~r/^expected :param to be a range or list with something in it, got: \[\]/, nap, [param: []]},
          {~r/^expected :param to be a range or list with something in it, got: 5/, nap, [param: 5]},
          {~r/^a parameter is a number, a text or an atom, got: \{1\}/, nap, [param: [{1}]]},
          {~r/^expected :runs to be a positive integer, got: 0/, nap, [param: [1], runs: 0]},
          {~r/^expected :per to be a function of the parameter, got: 7/, nap, [param: [1], per: 7]},
          {~r/^expected :per to give a positive number, for 1 it gave: 0/, nap,
           [param: [1], per: fn _ -> 0 end]},
          {~r/^expected :progress to be true, false or a function, got: :loud/, nap,
           [param: [1], progress: :loud]},
          {~r/^unknown key :run in the options of sweep\/2; there are :param, :runs,/, nap,
           [param: [1], run: 1]},
          {~r/^expected the options of sweep\/2 to be a keyword list, got: :x/, nap, :x}
        ] do
      assert_raise ArgumentError, message, fn -> Measure.sweep(device, opts) end
    end
  end
end
