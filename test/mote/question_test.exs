defmodule Mote.QuestionTest do
  # Waits end, also when a message that was promised never comes.
  use ExUnit.Case, async: true

  alias Mote.{Future, Machine, Native, Sums}
  alias Mote.Machine.{Question, Questions}

  setup do
    machine = start_supervised!(Mote)
    {:ok, native} = Machine.fetch(machine)
    future = Future.future(&Sums.fib/1, [1], machine: machine)
    :ok = Future.wait_for(future)
    %{native: native, future: future}
  end

  # As if whoever has claimed it had been killed before sending it.
  defp lost(native, future) do
    fn tag ->
      asker = Native.future_wait(native, future.ref, tag)
      assert_receive {^tag, :ok}
      asker
    end
  end

  test "for one that is lost", %{native: native, future: future} do
    waits = [
      fn -> assert {:error, %{reason: :machine_down}} = Question.put(native, 1, [], lost(native, future)) end,
      fn ->
        assert {:ok, open} = Question.open(native, [], lost(native, future))
        assert Questions.any([{open, 1}], 1, fn 1 -> [] end) == nil
      end
    ]

    # At the same time: each of them looks for seconds.
    waits
    |> Enum.map(fn wait ->
      Task.async(fn ->
        wait.()
        assert Process.info(self(), [:messages, :monitors]) == [messages: [], monitors: []]
      end)
    end)
    |> Task.await_many(:infinity)
  end
end
