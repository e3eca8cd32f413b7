defmodule Mote.FutureEnvironmentTest do
  # Futures of a block: where they run, when they end, and what is called before and after.
  use ExUnit.Case, async: true
  import Mote.{Eventually, Mailbox}
  import ExUnit.CaptureLog

  alias Mote.{Customer, Error, Future, Sums}

  @moduletag capture_log: true

  setup do
    %{machine: start_supervised!({Mote, fuel: 1_000_000_000, sponsors: [main: [threads: 1], other: []]})}
  end

  describe "an environment" do
    test "is a sponsor of its own, for the block", %{machine: machine} do
      result =
        Future.with_environment(machine, [max_threads: 3], fn ->
          assert [:main, :other, name] = Mote.sponsors(machine)
          assert length(Mote.info(machine).sponsors[name].threads) == 3
          futures = for n <- 1..15, do: Future.future(&Sums.fib/1, [n])
          assert inspect(Future.environment()) == "#Mote.Future.Environment<#{inspect(name)}>"
          sum = futures |> Enum.map(&Future.touch/1) |> Enum.sum()
          assert Mote.info(machine).sponsors.main.threads |> hd() |> Map.fetch!(:turns) == 0
          {sum, hd(futures)}
        end)

      assert {1596, future} = result
      assert Future.touch(future) == 1
      assert Mote.sponsors(machine) == [:main, :other]
      assert Future.environment() == nil
      nothing_left()
    end

    test "is released when the block raises, throws or exits", %{machine: machine} do
      for leave <- [fn -> raise "oh" end, fn -> throw(:oh) end, fn -> exit(:oh) end] do
        try do
          Future.with_environment(machine, [max_threads: 1], leave)
        catch
          kind, reason ->
            assert {kind, reason} in [error: %RuntimeError{message: "oh"}, throw: :oh, exit: :oh]
        end

        assert Mote.sponsors(machine) == [:main, :other]
        assert Future.environment() == nil
      end
    end

    test "is released when its process is killed", %{machine: machine} do
      test = self()

      owner =
        spawn(fn ->
          Future.with_environment(machine, [max_threads: 1], fn ->
            future = Future.future(Sums.patient(0, test), :go)
            send(test, {:in_it, future})
            Process.sleep(:infinity)
          end)
        end)

      assert_receive {:in_it, future}
      Process.exit(owner, :kill)
      assert_receive {:nobody_wants_it, _}
      eventually(fn -> Mote.sponsors(machine) == [:main, :other] end)
      assert catch_error(Future.touch(future)).reason == :killed
    end

    test "is released, and all who wait are told, when its process is killed at its end", %{machine: machine} do
      Mote.pause(machine)
      test = self()

      for hooks <- [[], [after_finish: [fn _ -> :ok end]]] do
        {owner, ref} =
          spawn_monitor(fn ->
            Future.with_environment(machine, [max_threads: 1] ++ hooks, fn ->
              send(test, {:futures, for(_ <- 1..40_000, do: Future.future(&Sums.fib/1, [1]))})
              receive(do: (:end -> :ok))
            end)
          end)

        assert_receive {:futures, [first | _] = futures}, 30_000

        # The first one that hears of the end kills the process that goes on telling the others.
        killer =
          spawn_link(fn ->
            Future.wait_for(first)
            Process.exit(owner, :kill)
          end)

        eventually(fn -> Process.info(killer, :status) == {:status, :waiting} end)
        waiting = for future <- Enum.take_every(futures, 400), do: Task.async(Future, :wait_for, [future])
        eventually(fn -> Enum.all?(waiting, &(Process.info(&1.pid, :status) == {:status, :waiting})) end)
        send(owner, :end)
        assert_receive {:DOWN, ^ref, _, _, _}, 30_000
        assert Task.await_many(waiting, 30_000) |> Enum.uniq() == [:ok]
        assert Enum.all?(futures, &match?({:error, %Error{reason: :killed}}, Future.poll(&1)))
        eventually(fn -> Mote.sponsors(machine) == [:main, :other] end)
      end
    end

    test "kills what is not finished at its end", %{machine: machine} do
      future =
        Future.with_environment(machine, [max_threads: 1], fn ->
          Future.future(Sums.patient(0, self()), :go)
        end)

      assert catch_error(Future.touch(future)).reason == :killed
      assert_receive {:nobody_wants_it, _}
    end

    test "kill_all kills its own only", %{machine: machine} do
      mine = Future.future(Sums.handing(self()), 1, machine: machine)

      Future.with_environment(machine, [max_threads: 1], fn ->
        done = Future.future(&Sums.answer/0, [])
        :ok = Future.wait_for(done)
        open = for _ <- 1..200, do: Future.future(Sums.handing(self()), 2)
        assert Future.kill_all() == 200
        assert Future.kill_all() == 0
        assert Enum.all?(open, &(catch_error(Future.touch(&1)).reason == :killed))
        assert Future.touch(done) == 42
      end)

      assert_receive {%Customer{} = customer, 1}
      Mote.send(customer, :mine)
      assert Future.touch(mine) == :mine
    end

    test "can be in another, and in two processes at once", %{machine: machine} do
      Future.with_environment(machine, [max_threads: 1], fn ->
        outer = Future.environment()

        Future.with_environment(machine, [max_threads: 2], fn ->
          assert Future.environment().sponsor != outer.sponsor
          assert Future.touch(Future.future(&Sums.answer/0, [])) == 42
        end)

        assert Future.environment() == outer

        task =
          Task.async(fn ->
            assert Future.environment() == nil
            Future.touch(Future.future(&Sums.answer/0, [], environment: outer))
          end)

        assert Task.await(task, 60_000) == 42
        assert hd(Mote.info(machine).sponsors[outer.sponsor].threads).turns == 1
      end)
    end

    test "names of sponsors are used again", %{machine: machine} do
      names =
        for _ <- 1..5 do
          Future.with_environment(machine, [max_threads: 1], fn -> List.last(Mote.sponsors(machine)) end)
        end

      assert [_] = Enum.uniq(names)
    end

    test "that has ended starts nothing, though its sponsor's name is used again", %{machine: machine} do
      old = Future.with_environment(machine, [max_threads: 1], &Future.environment/0)

      Future.with_environment(machine, [max_threads: 1], fn ->
        assert Future.environment().sponsor == old.sponsor
        error = assert_raise ArgumentError, fn -> Future.future(&Sums.spin/1, [1], environment: old) end
        assert error.message =~ "the block of #Mote.Future.Environment<:future_1> has ended"
      end)
    end

    test "whose machine ends", %{machine: machine} do
      future =
        Future.with_environment(machine, [max_threads: 1, after_finish: [fn _ -> :ok end]], fn ->
          future = Future.future(Sums.handing(self()), 1)
          :ok = Mote.stop(machine)
          assert catch_error(Future.touch(future)).reason == :machine_down
          future
        end)

      assert Future.environment() == nil
      assert Future.wait_for(future) == :ok
      assert catch_error(Future.with_environment(machine, fn -> :ok end)).reason == :machine_down
    end

    test "whose machine ends while it begins says so" do
      for n <- 1..200 do
        {:ok, machine} = Mote.start_link()
        Process.unlink(machine)

        # Some time within what it takes to begin.
        stopping =
          Task.async(fn ->
            for _ <- 1..rem(n * 37, 400)//1, do: :erlang.phash2(n)
            Mote.stop(machine)
          end)

        try do
          assert Future.with_environment(machine, [max_threads: 1], fn -> :ran end) == :ran
        rescue
          error in Error -> assert error.reason == :machine_down
        end

        assert Task.await(stopping, 60_000) == :ok
        assert Future.environment() == nil
      end

      nothing_left()
    end

    test "that the machine's :memory is not enough for says so", %{machine: machine} do
      small = start_supervised!({Mote, memory: 16 * 1024 * 1024}, id: :small)

      assert_raise ArgumentError,
                   ~r/expected :memory to be at least \d+ bytes for a machine with these/,
                   fn ->
                     Future.with_environment(small, [max_threads: 16], fn -> flunk("ran") end)
                   end

      assert Mote.sponsors(small) == [:main]
      assert Future.environment() == nil

      assert Future.with_environment(small, [max_threads: 1], fn -> Mote.sponsors(small) end) == [
               :main,
               :future_1
             ]

      assert Mote.sponsors(machine) == [:main, :other]
    end

    test "bad options are refused", %{machine: machine} do
      for {opts, text} <- [
            {[threads: 1], ~r/unknown option :threads of with_environment\/3; there are :max_threads, /},
            {[on_full: :wait], ~r/unknown option :on_full/},
            {[inbox: 0], ~r/expected :inbox of sponsor :future to be a positive number/},
            {[max_threads: 0],
             ~r/expected :max_threads of an environment to be :cores or an integer from 1 to/},
            {[after_finish: fn _ -> 1 end], ~r/expected :after_finish to be a list of functions/},
            {[before_start: [fn -> 1 end]], ~r/expected :before_start to be a list of functions/},
            {[hook: 1], ~r/unknown option :hook/},
            {:none, ~r/to be a keyword list/}
          ] do
        assert_raise ArgumentError, text, fn ->
          Future.with_environment(machine, opts, fn -> flunk("ran") end)
        end
      end

      assert Mote.sponsors(machine) == [:main, :other]
    end
  end

  describe "hooks" do
    test "are called before each start and after each end", %{machine: machine} do
      test = self()

      opts = [
        max_threads: 2,
        before_start: [fn {what, argument} -> send(test, {:before, what, argument}) end],
        after_finish: [fn future -> send(test, {:after, future, Future.poll(future)}) end]
      ]

      Future.with_environment(machine, opts, fn ->
        value = Future.future(&Sums.fib/1, [7])
        assert_received {:before, fib, [7]}
        assert fib == (&Sums.fib/1)
        # Nobody has touched it.
        assert_receive {:after, ^value, {:ok, 13}}
        failed = Future.future(&Sums.failing/1, [1])
        assert_receive {:after, ^failed, {:error, %Error{reason: :aborted}}}
        killed = Future.future(Sums.handing(self()), 1)
        Future.kill(killed)
        assert_receive {:after, ^killed, {:error, %Error{reason: :killed}}}
        for _ <- 1..20, do: Future.future(Sums.handing(self()), 1)
      end)

      # At the end of the block all have been called.
      {:messages, messages} = Process.info(self(), :messages)
      assert length(for {:after, _, {:error, _}} <- messages, do: 1) == 20
      assert length(for {:before, _, _} <- messages, do: 1) == 22
    end

    test "that take others with them, or die, leave no sponsor behind", %{machine: machine} do
      test = self()
      linked = fn _ -> Task.await(Task.async(fn -> raise "boom" end)) end
      unseen = fn _ -> spawn_link(fn -> exit(:unseen) end) end
      told = fn future -> send(test, {:told, future}) end

      run = fn hooks ->
        Future.with_environment(machine, [max_threads: 1, after_finish: hooks], fn ->
          futures = for _ <- 1..3, do: Future.future(&Sums.answer/0, [])
          for future <- futures, do: assert(Future.touch(future) == 42)
          futures
        end)
      end

      assert capture_log(fn ->
               for future <- run.([linked, unseen, told]), do: assert_received({:told, ^future})
             end) =~ "failed: ** (exit) exited in: Task.await"

      # One that ends its process ends nothing else.
      log = capture_log(fn -> for future <- run.([&die/1, told]), do: assert_received({:told, ^future}) end)
      assert log |> String.split("failed: ** (exit) killed") |> length() == 4
      assert Mote.sponsors(machine) == [:main, :other]
    end

    test "may watch processes, be sent anything and receive anything: their environment goes on",
         %{machine: machine} do
      test = self()

      greedy = fn future ->
        spawn_monitor(fn -> :ok end)
        send(self(), :stray)
        # While others are finished, and the block ends.
        send(test, {:took, future, for(_ <- 1..2, do: receive(do: (message -> message)))})
        Process.sleep(50)
        nothing = receive(do: (message -> message), after: (0 -> :nothing))
        send(test, {:then, future, nothing})
      end

      futures =
        Future.with_environment(machine, [max_threads: 1, after_finish: [greedy]], fn ->
          for stray <- [:stray, {make_ref(), 1}], do: send(Future.environment().keeper, stray)
          for n <- 1..3, do: Future.future(&Sums.fib/1, [n])
        end)

      for future <- futures do
        assert_received {:took, ^future, [_, _]}
        assert_received {:then, ^future, :nothing}
      end

      assert Mote.sponsors(machine) == [:main, :other]
    end

    defp die(_future), do: Process.exit(self(), :kill)

    test "that fail", %{machine: machine} do
      log =
        capture_log(fn ->
          Future.with_environment(
            machine,
            [max_threads: 1, after_finish: [fn _ -> raise "no hook" end]],
            fn ->
              assert Future.touch(Future.future(&Sums.answer/0, [])) == 42
            end
          )
        end)

      assert log =~ "a hook of #Mote.Future<Mote.Sums.answer/0, finished> failed: ** (RuntimeError) no hook"

      assert_raise RuntimeError, "not now", fn ->
        Future.with_environment(machine, [max_threads: 1, before_start: [fn _ -> raise "not now" end]], fn ->
          Future.future(&Sums.answer/0, [])
        end)
      end

      assert Mote.sponsors(machine) == [:main, :other]
      assert Mote.info(machine).questions.open == 0
    end
  end
end
