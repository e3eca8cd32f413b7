defmodule Mote.PeekTest do
  use ExUnit.Case, async: true
  import Mote.Eventually, only: [eventually: 1]

  alias Mote.{Directory, Error, Native}

  defmodule Pages do
    use Mote.Behaviour

    # All parts of a state are of one turn.
    defactor page(n, shown) do
      {customer, :next} ->
        m = n + 1
        send customer, m
        become page(m, {m, [m, m], %{"m" => m}})

      {customer, {:wait, k}} ->
        send customer, count(k)
        become page(n + 1, shown)

      :fail ->
        become page(-1, shown)
        abort :failed

      {:keep, value} ->
        become page(n, value)

      :end ->
        become sink()
    end

    defactor empty() do
      _ -> nil
    end

    defpurep count(0), do: 0
    defpurep count(k), do: 1 + count(k - 1)

    defdirectory pages() do
      "lost" -> nil
      key when key != :none -> page(0, key)
    end
  end

  setup do
    machine = start_supervised!({Mote, sponsors: [main: [], other: [threads: 2]]})
    %{machine: machine, page: Mote.create(machine, Pages.page(0, nil))}
  end

  test "sees what the last turn has left, and runs none", %{machine: machine, page: page} do
    assert Mote.peek(page) == {:ok, {:page, 0, nil}}
    assert Mote.ask(page, :next) == {:ok, 1}
    assert Mote.peek(page) == {:ok, {:page, 1, {1, [1, 1], %{"m" => 1}}}}
    before = Mote.info(machine).counters
    for _ <- 1..100, do: assert({:ok, {:page, 1, _}} = Mote.peek(page))

    assert Map.take(Mote.info(machine).counters, [:turns, :stand_ins]) ==
             Map.take(before, [:turns, :stand_ins])
  end

  @tag not_under_stress: "a thread that collects all the time does not sleep"
  test "needs no thread while that sleeps", %{machine: machine, page: page} do
    pages = Directory.start(machine, Pages.pages())
    Directory.ask!(pages, :a, :next)
    shard = Directory.shard(pages, :a)
    eventually(fn -> Native.peek(page.machine, page.key) == {:page, 0, nil} end)
    eventually(fn -> match?({:page, 1, _}, Native.peek(shard.machine, shard.key, :a)) end)
    eventually(fn -> Native.peek(shard.machine, shard.key, :b) == nil end)
  end

  test "of an aborted turn nothing is seen", %{machine: machine, page: page} do
    Mote.send(page, :fail)
    Mote.drain(machine)
    assert Mote.peek(page) == {:ok, {:page, 0, nil}}
  end

  test "shows every kind of behaviour and of value", %{machine: machine, page: page} do
    assert Mote.peek(Mote.create(machine, Pages.empty())) == {:ok, {:empty}}

    # Much is shown by the thread.
    many = Map.new(1..500, &{&1, <<0::size(&1)-unit(8)>>})

    for value <- [self(), make_ref(), page, 1.5, -(2 ** 70), <<1::3>>, &is_atom/1, [1 | 2], many] do
      Mote.send(page, {:keep, value})
      Mote.drain(machine)
      assert Mote.peek(page) == {:ok, {:page, 0, value}}
    end

    Mote.send(page, :end)
    Mote.drain(machine)
    assert Mote.peek(page) == {:ok, {:sink}}
  end

  test "wherever the actor runs", %{machine: machine} do
    for sponsor <- [:main, :other, :main, :other] do
      page = Mote.create(machine, Pages.page(7, nil), sponsor: sponsor)
      assert Mote.peek(page) == {:ok, {:page, 7, nil}}
      assert Mote.ask(page, :next) == {:ok, 8}
      assert {:ok, {:page, 8, _}} = Mote.peek(page)
    end
  end

  @tag not_under_stress: "a thread that collects all the time does not sleep"
  test "needs no thread of an actor that has gone to another one since", %{page: page} do
    for {sponsor, n} <- Enum.with_index([:main, :other, :main, :other], 1) do
      assert Mote.ask(page, :next, sponsor: sponsor) == {:ok, n}
      for _ <- 1..2, do: eventually(fn -> match?({:page, ^n, _}, Native.peek(page.machine, page.key)) end)
    end
  end

  test "of an actor in a long turn sees what comes before it or after", %{page: page} do
    task = Task.async(fn -> Mote.ask(page, {:wait, 60_000}) end)
    seen = for _ <- 1..200, do: Mote.peek(page)
    assert Enum.all?(seen, &(&1 in [{:ok, {:page, 0, nil}}, {:ok, {:page, 1, nil}}]))
    assert {:ok, 60_000} = Task.await(task)
    assert Mote.peek(page) == {:ok, {:page, 1, nil}}
  end

  test "never sees parts of two states, nor an earlier one than before", %{machine: machine, page: page} do
    rounds = 20_000
    asker = Task.async(fn -> for _ <- 1..rounds, do: {:ok, _} = Mote.ask(page, :next) end)

    peekers =
      for _ <- 1..2 do
        Task.async(fn ->
          Stream.repeatedly(fn -> Mote.peek(page) end)
          |> Enum.reduce_while(0, fn
            {:ok, {:page, 0, nil}}, 0 ->
              {:cont, 0}

            {:ok, {:page, n, shown}}, last ->
              assert shown == {n, [n, n], %{"m" => n}}
              assert n >= last
              if n == rounds, do: {:halt, :done}, else: {:cont, n}
          end)
        end)
      end

    collector = Task.async(fn -> for _ <- 1..20, do: Native.machine_collect(native(machine), make_ref()) end)

    Task.await_many([asker, collector | peekers], 60_000)
  end

  defp native(machine) do
    {:ok, native} = Mote.Machine.fetch(machine)
    native
  end

  test "of a machine that has ended is an error", %{machine: machine, page: page} do
    :ok = Mote.stop(machine)
    assert {:error, %Error{}} = Mote.peek(page)
    assert_raise ArgumentError, fn -> Mote.peek(:page) end
  end

  describe "by key" do
    setup %{machine: machine}, do: %{pages: Directory.start(machine, Pages.pages())}

    test "sees the actor of each key, and starts none", %{pages: pages} do
      keys = [
        1,
        -(2 ** 70),
        :a,
        "text",
        {:x, [1.5]},
        %{a: 1},
        self(),
        [self() | 2],
        String.duplicate("k", 5_000)
      ]

      for key <- keys do
        assert {:error, %Error{reason: :unknown_key}} = Directory.peek(pages, key)
      end

      assert Directory.count(pages) == 0

      for key <- keys do
        assert Directory.ask(pages, key, :next) == {:ok, 1}
        assert Directory.peek(pages, key) == {:ok, {:page, 1, {1, [1, 1], %{"m" => 1}}}}
      end

      assert {:error, %Error{reason: :unknown_key}} = Directory.peek(pages, "lost")
      assert {:error, %Error{reason: :unknown_directory}} = Directory.peek(:nowhere, 1)
    end

    test "whatever else is asked meanwhile", %{pages: pages} do
      for key <- 1..50, do: Directory.ask!(pages, key, :next)

      askers =
        for i <- 1..2,
            do: Task.async(fn -> for n <- 1..5_000, do: Directory.ask!(pages, rem(n * i, 60), :next) end)

      for n <- 1..5_000 do
        case Directory.peek(pages, rem(n, 60)) do
          {:ok, {:page, n, shown}} -> assert shown == {n, [n, n], %{"m" => n}} or n == 0
          {:error, %Error{reason: :unknown_key}} -> assert rem(n, 60) not in 1..50
        end
      end

      Task.await_many(askers, 60_000)
    end
  end
end
