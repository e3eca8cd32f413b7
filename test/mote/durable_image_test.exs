defmodule Mote.DurableImageTest do
  # Images of durable machines are written beside their turns: what comes in meanwhile is in the next journal. Whatever a crash leaves of the
  # two images and the two journals, a start comes to the same.
  use ExUnit.Case, async: true

  import ExUnit.CaptureLog
  import Mote.OwnFolder, only: [own_folder: 1, hear_exits: 1]

  alias Mote.{Durable, Error, Ledger, Long}

  @clients 4
  @ballast 20

  setup [:own_folder, :hear_exits]

  setup %{dir: base}, do: %{base: base, dir: Path.join(base, "live")}

  # What has become of everything that was told: not how often a timer has fired since.
  defp state(ledger) do
    {seen, draws, accounts, _ticks} = Mote.ask!(ledger, :all)
    {seen, draws, Map.new(accounts, fn {name, account} -> {name, Mote.ask!(account, :balance)} end)}
  end

  # Clients that ask on and on until `act` is over.
  defp while_asked(ledger, act) do
    clients = for client <- 1..@clients, do: spawn_link(fn -> ask(ledger, client, 1) end)
    result = act.()

    for client <- clients do
      send(client, {:end, self()})
      assert_receive {^client, n} when n > 1
    end

    result
  end

  defp ask(ledger, client, n) do
    assert {^n, _, _, _} = Mote.ask!(ledger, {:add, client, n})
    if rem(n, 10) == 1, do: Mote.ask!(ledger, {:open, {client, n}})
    if rem(n, 10) > 5, do: Mote.ask!(ledger, {:pay, {client, n - rem(n, 10) + 1}, n})

    receive do
      {:end, test} -> send(test, {self(), n + 1})
    after
      0 -> ask(ledger, client, n + 1)
    end
  end

  # The folder of a machine that was killed after a second image: both images and both journals, with what had come in by then.
  defp both(base, dir) do
    {:ok, machine, ledger} = Ledger.start(dir)
    :ok = Mote.ask!(ledger, {:fill, @ballast})
    {:ok, %{number: first}} = Durable.info(machine)
    kept = Path.join(base, "kept")
    File.mkdir_p!(kept)
    # They go when the next image is there; so much of them stays as there was then.
    for file <- names(first), do: :ok = File.ln(Path.join(dir, file), Path.join(kept, file))
    assert {:ok, _image} = while_asked(ledger, fn -> Durable.checkpoint(machine) end)
    while_asked_again = for client <- 1..@clients, do: Mote.ask!(ledger, {:add, {:later, client}, 1})
    assert length(while_asked_again) == @clients
    state = state(ledger)
    Ledger.kill_and_join(machine)
    second = first + 1
    for file <- names(second), do: File.cp!(Path.join(dir, file), Path.join(kept, file))
    {kept, {first, second}, state}
  end

  defp names(number) do
    name = String.pad_leading("#{number}", 8, "0")
    [name <> ".image", name <> ".journal"]
  end

  # Starts a machine on such files, with what was being written.
  defp start_on(base, kept, files, change \\ fn _dir -> :ok end) do
    dir = Path.join(base, "crash_#{System.unique_integer([:positive])}")
    File.mkdir_p!(dir)
    for file <- files, do: File.cp!(Path.join(kept, file), Path.join(dir, file))
    change.(dir)
    me = self()

    capture_log(fn ->
      {:ok, machine, ledger} = Ledger.start(dir)
      send(me, {:state, state(ledger)})
      Mote.stop(machine)
    end)

    File.rm_rf!(dir)
    assert_receive {:state, state}
    state
  end

  test "whichever files a crash leaves, nothing is lost and nothing runs twice", %{base: base, dir: dir} do
    {kept, {first, second}, state} = both(base, dir)
    [old_image, old_journal] = names(first)
    [image, journal] = names(second)

    for files <- [
          # The image was being written, or had not begun.
          [old_image, old_journal, journal],
          # It has its name, and some of what it takes the place of is still there.
          [old_image, old_journal, image, journal],
          [old_journal, image, journal],
          [old_image, image, journal],
          [image, journal]
        ],
        do: assert({files, start_on(base, kept, files)} == {files, state})

    part = fn dir ->
      bytes = File.read!(Path.join(kept, image))
      File.write!(Path.join(dir, image <> ".1-1.part"), binary_part(bytes, 0, div(byte_size(bytes), 2)))
    end

    assert start_on(base, kept, [old_image, old_journal, journal], part) == state
  end

  test "wherever the next journal ends, the image and all that came before it come to the same", %{
    base: base,
    dir: dir
  } do
    {kept, {first, second}, _state} = both(base, dir)
    [_, journal] = two = names(second)
    %{size: size} = File.stat!(Path.join(kept, journal))

    for _ <- 1..Long.runs(3) do
      # Behind its header, which has its name when it is whole.
      cut = Enum.random(104..size)

      change = fn dir ->
        path = Path.join(dir, journal)
        File.write!(path, binary_part(File.read!(path), 0, cut))
      end

      by_image = start_on(base, kept, two, change)
      assert {cut, start_on(base, kept, names(first) ++ [journal], change)} == {cut, by_image}
    end
  end

  test "journals that began beside turns are run again one after the other", %{dir: dir} do
    {:ok, machine, ledger} = Ledger.start(dir)
    :ok = Mote.ask!(ledger, {:fill, @ballast})
    {:ok, %{number: number}} = Durable.info(machine)

    log =
      capture_log(fn ->
        while_asked(ledger, fn ->
          for n <- (number + 1)..(number + 4) do
            # No image where the next one would be.
            [image, _journal] = names(n)
            File.mkdir_p!(Path.join([dir, image, "taken"]))
            assert {:error, %Error{reason: :image}} = Durable.checkpoint(machine)
          end
        end)

        state = state(ledger)
        Ledger.kill_and_join(machine)
        for n <- (number + 1)..(number + 4), do: File.rm_rf!(Path.join(dir, hd(names(n))))
        assert {:ok, machine, ledger} = Ledger.start(dir)
        assert state(ledger) == state
        Mote.stop(machine)
      end)

    assert log =~ "runs again what came in after"
  end
end
