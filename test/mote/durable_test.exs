defmodule Mote.DurableTest do
  use ExUnit.Case, async: true

  import ExUnit.CaptureLog
  import Mote.Eventually
  import Mote.Ledger, only: [kill: 1]
  import Mote.OwnFolder

  alias Mote.{Durable, Error, Ledger, Long, Telling}

  setup [:own_folder, :hear_exits]

  test "a machine that was killed comes back with its state, its addresses and its names", %{dir: dir} do
    {:ok, machine, ledger} = Ledger.start(dir)
    assert :ok = Mote.send(ledger, {:add, :sent, 1})
    assert :ok = Mote.send_many(ledger, for(n <- 2..50, do: {:add, :sent, n}))
    draw = Mote.ask!(ledger, {:add, :asked, 1})
    account = Mote.ask!(ledger, {:open, :x})
    paid = Mote.ask!(account, {:pay, 7})
    row = :erlang.term_to_binary({ledger, account})
    kill(machine)

    {:ok, machine, again} = Ledger.start(dir)
    {seen, draws, accounts, _ticks} = Mote.ask!(again, :all)
    assert seen == %{sent: 50, asked: 1}
    assert draws == %{asked: draw}
    assert {7, _} = paid
    assert {8, _} = Mote.ask!(accounts.x, {:pay, 1})
    # Addresses of the life before, as terms and as bytes.
    assert Mote.ask!(account, :balance) == 8
    {ledger, account} = :erlang.binary_to_term(row)
    assert Mote.ask!(account, :balance) == 8
    assert {1, _, _, _} = Mote.ask!(ledger, {:add, :later, 1})
    Mote.stop(machine)
  end

  defmodule Visits do
    use Mote.Behaviour

    defactor page(count) do
      :visit -> become count: count + 1
      {customer, :count} -> send customer, count
    end

    defdirectory pages() do
      _path -> page(0)
    end
  end

  test "a directory with a name is the same one in each life of its machine", %{dir: dir} do
    [name, pages] = for part <- [Machine, Pages], do: Module.concat(__MODULE__, part)

    children = [
      {Mote, name: name, durable: [dir: dir]},
      {Mote.Directory, name: pages, machine: name, start: Visits.pages(), shards: 2}
    ]

    {:ok, supervisor} = Supervisor.start_link(children, strategy: :rest_for_one)
    # Whoever names other things loses no directory.
    assert {:ok, _image} = Durable.checkpoint(name, %{other: 1})
    assert Mote.names(name) == %{:other => 1, pages => Mote.Directory.fetch!(pages)}

    for visits <- 1..3 do
      assert :ok = Mote.Directory.send(pages, "/", :visit)
      [keeper, machine] = for process <- [pages, name], do: Process.monitor(process)
      Process.exit(Process.whereis(name), :kill)
      for ref <- [keeper, machine], do: assert_receive({:DOWN, ^ref, :process, _, _})
      eventually(fn -> Mote.Directory.ask(pages, "/", :count) == {:ok, visits} end)
      assert Mote.names(name) == %{:other => 1, pages => Mote.Directory.fetch!(pages)}
    end

    # The name was in the image with which this life began.
    assert {:ok, %{number: number}} = Durable.info(name)
    Supervisor.stop(supervisor)
    {:ok, machine} = Mote.start_link(name: name, durable: [dir: dir])
    assert {:ok, %{number: next}} = Durable.info(machine)
    assert next == number + 1
    {:ok, _directory} = Mote.Directory.start_link(name: pages, machine: name, start: Visits.pages())
    assert {:ok, %{number: ^next}} = Durable.info(machine)
    Mote.stop(machine)
  end

  test "a folder that goes ends the machine before it acknowledges anything else", %{dir: dir} do
    {:ok, machine} = Mote.start_link(durable: [dir: dir])
    page = Mote.create(machine, Visits.page(0))
    assert :ok = Mote.send(page, :visit)
    # Who would notice it otherwise.
    :sys.suspend(:sys.get_state(machine).keeper)
    File.rm_rf!(dir)
    assert {:error, %Error{reason: :machine_down}} = Mote.send(page, :visit)
    assert_receive {:EXIT, ^machine, {:fault, %{text: text}}}
    assert text =~ "takes no more: its file was removed"
  end

  defp told(event) do
    caller = self()
    id = {event, make_ref()}

    :ok =
      :telemetry.attach(
        id,
        event,
        fn _, measured, about, _ -> send(caller, {event, measured, about}) end,
        nil
      )

    on_exit(fn -> :telemetry.detach(id) end)
  end

  test "what a start goes on from, and images, are told", %{dir: dir} do
    Enum.each(
      [[:mote, :durable, :start], [:mote, :durable, :image], [:mote, :durable, :image_failed]],
      &told/1
    )

    {:ok, machine} = Mote.start_link(durable: [dir: dir])
    page = Mote.create(machine, Visits.page(0))
    assert_receive {[_, _, :start], %{entries: 0}, %{dir: ^dir, image: nil, machine: ^machine}}
    assert {:ok, _image} = Durable.checkpoint(machine)

    assert_receive {[_, _, :image], %{bytes: _, duration: _, stood_still: _},
                    %{number: number, machine: ^machine}}

    assert :ok = Mote.send(page, :visit)
    kill(machine)

    log =
      capture_log(fn ->
        {:ok, machine} = Mote.start_link(durable: [dir: dir])
        assert Mote.ask!(page, :count) == 1
        # There is another entry where the thread was kept from its core before it ran the turn.
        assert_receive {[_, _, :start], %{entries: entries}, %{image: ^number, machine: ^machine}}
        assert entries >= 1
        # No image where the next one would be.
        File.mkdir!(Path.join(dir, String.pad_leading("#{number + 2}", 8, "0") <> ".image"))
        assert {:error, %Error{reason: :image}} = Durable.checkpoint(machine)
        assert_receive {[_, _, :image_failed], %{}, %{error: %Error{}, dir: ^dir, machine: ^machine}}
        Mote.stop(machine)
      end)

    assert log =~ "runs again what came in after #{dir}"
    assert log =~ "has no new image in its folder #{dir}"
  end

  test "an orderly end leaves an image of what would take long to do again, and no process", %{dir: dir} do
    {:ok, machine} = Mote.start_link(durable: [dir: dir])
    page = Mote.create(machine, Visits.page(0))
    keeper = :sys.get_state(machine).keeper
    ref = Process.monitor(keeper)
    # Longer than an image takes, whatever that is.
    :sys.replace_state(keeper, &%{&1 | took: -1})
    assert :ok = Mote.send(page, :visit)
    Mote.stop(machine)
    assert_receive {:DOWN, ^ref, :process, ^keeper, :normal}
    told([:mote, :durable, :start])
    {:ok, machine} = Mote.start_link(durable: [dir: dir])
    assert_receive {[_, _, :start], %{entries: 0}, %{machine: ^machine}}
    assert Mote.ask!(page, :count) == 1
    Mote.stop(machine)
  end

  test "a question that a directory passes on keeps no actor alive", %{dir: dir} do
    {:ok, machine} = Mote.start_link(durable: [dir: dir, sync: :os])
    pages = Mote.Directory.start(machine, Visits.pages(), shards: 1)
    {:ok, %{kept: kept}} = Durable.checkpoint(machine, %{pages: pages})

    for n <- 1..100 do
      assert Mote.Directory.ask!(pages, n, :count) == 0
      assert Mote.Directory.delete(pages, n)
    end

    assert {:ok, %{kept: ^kept}} = Durable.checkpoint(machine)
    Mote.gc(machine)
    # The shard, and what the last turns have left.
    assert Mote.info(machine).gc.live_actors < 10
    Mote.stop(machine)
  end

  test "what was not acknowledged before the first image of a life is not needed to start", %{dir: dir} do
    {:ok, machine, _ledger} = Ledger.start(dir)
    Mote.stop(machine)
    [image] = files(dir, ".image")
    # As if the next start had ended after its journal and before its image.
    journal = Path.rootname(image) <> ".journal"
    next = Path.join(dir, "00000099.journal")
    other = dir <> "_other"
    on_exit(fn -> File.rm_rf!(other) end)
    {:ok, fresh} = Mote.start_link(durable: [dir: other])
    File.cp!(hd(files(other, ".journal")), next)
    Mote.stop(fresh)
    assert {:ok, machine, _ledger} = Ledger.start(dir)
    assert {:ok, %{number: 100}} = Durable.info(machine)
    refute File.exists?(next) or File.exists?(journal)
    Mote.stop(machine)
  end

  test "an address that was let go of leads nowhere, in this life and the next ones, and others lead where they did",
       %{dir: dir} do
    {:ok, machine, ledger} = Ledger.start(dir)
    a = Mote.ask!(ledger, {:open, :a})
    assert Mote.ask!(a, :balance) == 0
    :ok = Mote.release(a)
    # Although this process has it still.
    assert {:error, %Error{reason: :unknown_address}} = Mote.ask(a, :balance)
    assert_raise Error, fn -> Mote.send_many(a, [:x]) end
    {:ok, _} = Durable.checkpoint(machine)
    # The actor is still there, and gets another one.
    again = Mote.ask!(ledger, {:open, :a})
    others = for n <- 1..5, do: Mote.ask!(ledger, {:open, n})

    balances =
      for {account, n} <- Enum.with_index([again | others]), do: Mote.ask!(account, {:pay, n}) |> elem(0)

    assert balances == Enum.to_list(0..5)
    kill(machine)
    {:ok, machine, _ledger} = Ledger.start(dir)
    assert {:error, %Error{reason: :unknown_address}} = Mote.ask(a, :balance)
    assert for(account <- [again | others], do: Mote.ask!(account, :balance)) == balances
    Mote.stop(machine)
  end

  test "addresses lead where they did, whoever lets go of them meanwhile", %{dir: dir} do
    {:ok, machine, ledger} = Ledger.start(dir, sync: :os)

    opened =
      1..4
      |> Enum.map(fn client ->
        Task.async(fn ->
          for n <- 1..200, reduce: %{} do
            opened ->
              # Some are opened by all.
              name = if rem(n, 2) == 0, do: rem(n, 10), else: {client, n}
              account = Mote.ask!(ledger, {:open, name})

              if rem(n, 2) == 0 do
                try do
                  Mote.send(account, {:unknown, n})
                  Mote.release(account)
                rescue
                  # Another client was faster.
                  Error -> :ok
                end

                opened
              else
                Map.put(opened, name, account)
              end
          end
        end)
      end)
      |> Enum.map(&Task.await(&1, :infinity))
      |> Enum.reduce(&Map.merge/2)

    kill(machine)
    {:ok, machine, ledger} = Ledger.start(dir)
    for {name, account} <- opened, do: assert({1, _} = Mote.ask!(account, {:pay, 1}), inspect(name))

    for {name, account} <- elem(Mote.ask!(ledger, :all), 2),
        is_tuple(name),
        do: assert(Mote.ask!(account, :balance) == 1)

    Mote.stop(machine)
  end

  test "what send_many has acknowledged is in the journals of all machines, whatever it was sent with", %{
    dir: dir
  } do
    [{one, a}, {two, b}] =
      for name <- ["one", "two"] do
        {:ok, machine, ledger} = Ledger.start(Path.join(dir, name))
        {machine, ledger}
      end

    bytes = fn machine -> machine |> Durable.info() |> elem(1) |> Map.fetch!(:bytes) end

    for n <- 1..50 do
      before = bytes.(one)
      :ok = Mote.send_many([{a, {:add, :client, n}}, {self(), n}])
      after_one = bytes.(one)
      assert after_one > before
      :ok = Mote.send_many([{a, {:add, :other, n}}, {b, {:add, :other, n}}])
      assert bytes.(one) > after_one
    end

    for machine <- [one, two], do: Mote.stop(machine)
  end

  test "processes that a journal names are not taken for those of this start", %{dir: dir} do
    {:ok, machine} = Mote.start_link(durable: [dir: dir])
    keeper = Mote.create(machine, Telling.teller(:nobody, %{}))
    {:ok, _} = Durable.checkpoint(machine, %{keeper: keeper})
    :ok = Mote.send(keeper, {:tell_to, self()})
    kill(machine)
    me = self()
    resolve = fn lost -> send(me, {:lost, lost}) && :lost end
    {:ok, machine} = Mote.start_link(durable: [dir: dir], resolve: resolve)
    assert_receive {:lost, %{kind: :pid} = lost}
    refute is_map_key(lost, :value)
    Mote.stop(machine)
  end

  test "new addresses in an order that follows from nothing are not told, and others lead where they did", %{
    dir: dir
  } do
    {:ok, machine} = Mote.start_link(durable: [dir: dir])
    maker = Mote.create(machine, Telling.maker([]))
    {:ok, _} = Durable.checkpoint(machine, %{maker: maker})

    for n <- 1..10 do
      500 = Mote.ask!(maker, {:make, 10 * n, 10 * n + 9})
      :ok = Mote.gc(machine)
    end

    assert {:error, %Error{}} = Mote.ask(maker, :map, 1_000)
    {list, map} = Mote.ask!(maker, :list_and_map)
    assert Enum.sort(list) == map |> Map.keys() |> Enum.sort()
    assert for(account <- list, do: Mote.ask!(account, :value)) == Enum.to_list(10..109)
    # All of them have been told now.
    assert Mote.ask!(maker, :map) == map
    kill(machine)
    {:ok, machine} = Mote.start_link(durable: [dir: dir])
    assert for(account <- list, do: Mote.ask!(account, :value)) == Enum.to_list(10..109)
    Mote.stop(machine)
  end

  test "a function that an image does not keep is one for the turns that run again", %{dir: dir} do
    {:ok, machine} = Mote.start_link(durable: [dir: dir])
    holding = Mote.create(machine, Telling.holding(nil))
    :ok = Mote.ask!(holding, {:put, fn -> dir end})
    {:ok, _} = Durable.checkpoint(machine)
    {first, second} = Mote.ask!(holding, :tell)
    kill(machine)
    {:ok, machine} = Mote.start_link(durable: [dir: dir])
    assert {Mote.ask!(first, :value), Mote.ask!(second, :value)} == {:first, :second}
    Mote.stop(machine)
  end

  test "a start whose memory is too small for its journal says so, and one with more goes on", %{dir: dir} do
    {:ok, machine} = Mote.start_link(durable: [dir: dir], memory: 64_000_000)
    holding = Mote.create(machine, Telling.growing([]))
    grown = grow(holding, 0)
    # It has refused the next one, or ended.
    Process.exit(machine, :kill)
    assert_receive {:EXIT, ^machine, _}

    # Twice as much is there while the journal runs again.
    assert {:error, %Error{reason: :journal} = error} =
             Mote.start_link(durable: [dir: dir], memory: 16_000_000)

    assert Exception.message(error) =~ ".journal: "
    assert Exception.message(error) =~ "found no memory"

    {:ok, machine} = Mote.start_link(durable: [dir: dir])
    assert Mote.ask!(holding, :count) in [grown, grown + 1]
    Mote.stop(machine)
  end

  # It may hold more than machines may take, and ends at a turn that it has no memory for.
  test "a machine that is full starts again with the memory that it had, whichever way it has ended", %{
    dir: dir
  } do
    options = [durable: [dir: dir, sync: :os], memory: 24_000_000]
    {:ok, machine} = Mote.start_link(options)
    holding = Mote.create(machine, Telling.growing([]))

    for how <- [:shutdown, :kill, :shutdown, :kill], reduce: {machine, 0} do
      {machine, count} ->
        grown = grow(holding, count, 200)
        Process.exit(machine, how)
        assert_receive {:EXIT, ^machine, _}, 60_000
        assert {:ok, machine} = Mote.start_link(options)
        count = Mote.ask!(holding, :count)
        assert count in [grown, grown + 1]
        {machine, count}
    end
  end

  defp grow(holding, count, each \\ 20_000) do
    case Mote.ask(holding, {:grow, each}) do
      {:ok, _} -> grow(holding, count + 1, each)
      {:error, %Error{reason: reason}} when reason in [:no_memory, :machine_down] -> count
    end
  end

  test "what its journal could not tell again it does not do", %{dir: dir} do
    {:ok, machine, ledger} = Ledger.start(dir)
    reasons = fn act -> assert_raise(Error, act).reason end
    assert reasons.(fn -> Mote.send_after(ledger, :tick, 1) end) == :not_durable
    assert reasons.(fn -> Mote.share(machine, {:a, "value"}) end) == :not_durable
    assert {:error, %Error{reason: :start}} = Mote.add_sponsor(machine, :more, threads: 1)
    {:ok, other} = Mote.start_link()
    assert {:error, %Error{reason: :not_durable}} = Mote.move(ledger, other)
    account = Mote.ask!(ledger, {:open, :x})
    # A turn that watches a process is aborted.
    Mote.send(account, {:monitor, self()})
    assert Mote.ask!(account, :balance) == 0
    assert Mote.info(machine).counters.aborts_match == 1
    assert Mote.Raised.Limit.exceeded(:not_durable, nil) =~ "it sets a monitor"
    # An actor that only a look has shown has an address that leads nowhere.
    {:ok, {:account, _}} = Mote.peek(account)
    for m <- [machine, other], do: Mote.stop(m)
  end

  test "a program of any inputs comes to the same, wherever it is killed", %{dir: dir} do
    for run <- 1..Long.runs(3) do
      dir = Path.join(dir, "#{run}")
      {:ok, machine, ledger} = Ledger.start(dir)
      model = Enum.reduce(1..5, {machine, ledger, %{}, %{}}, fn _, model -> life(dir, model) end)
      {machine, ledger, seen, balances} = model
      {there, _draws, accounts, _ticks} = Mote.ask!(ledger, :all)
      assert there == seen
      assert Map.new(accounts, fn {name, account} -> {name, Mote.ask!(account, :balance)} end) == balances
      Mote.stop(machine)
    end
  end

  defp life(dir, {machine, ledger, seen, balances}) do
    {seen, balances} =
      Enum.reduce(1..Enum.random(1..40), {seen, balances}, fn _, {seen, balances} ->
        client = Enum.random(1..3)
        n = Map.get(seen, client, 0) + 1

        case Enum.random(1..6) do
          1 ->
            :ok = Mote.send(ledger, {:add, client, n})
            {Map.put(seen, client, n), balances}

          2 ->
            m = Enum.random(1..30)
            :ok = Mote.send_many(for i <- n..(n + m), do: {ledger, {:add, client, i}})
            {Map.put(seen, client, n + m), balances}

          3 ->
            assert {^n, _, _, _} = Mote.ask!(ledger, {:add, client, n})
            {Map.put(seen, client, n), balances}

          4 ->
            Mote.ask!(ledger, {:open, client})
            {seen, Map.put_new(balances, client, 0)}

          5 when is_map_key(balances, client) ->
            sum = balances[client] + n
            assert {^sum, _} = Mote.ask!(ledger, {:pay, client, n})
            {seen, Map.put(balances, client, sum)}

          6 ->
            if Enum.random(1..3) == 1, do: {:ok, _} = Durable.checkpoint(machine)
            {seen, balances}

          _ ->
            {seen, balances}
        end
      end)

    kill(machine)
    {:ok, machine, ledger} = Ledger.start(dir)
    {machine, ledger, seen, balances}
  end
end
