defmodule Mote.Sorting do
  # A process that keeps its messages off its heap, and into which those of different senders come by ways of their own,
  # as the BEAM does it for one that many send to at once. It looks at nothing before it is asked: so what two senders
  # have sent stands in the order of their ways.

  def start do
    :erts_debug.set_internal_state(:available_internal_state, true)
    starter = self()

    pid =
      spawn_link(fn ->
        Process.flag(:message_queue_data, :off_heap)
        :erts_debug.set_internal_state(:proc_sig_buffers, true)
        send(starter, {:sorting, self()})
        gather([])
      end)

    receive do
      {:sorting, ^pid} -> :ok
    end

    :erlang.suspend_process(pid)
    pid
  end

  @doc "What came as `{:number, n}`, in its order. What is to be here has been sent."
  def numbers(pid) do
    :erlang.resume_process(pid)
    send(pid, {:numbers, self()})

    receive do
      {:numbers, ^pid, numbers} -> numbers
    end
  end

  # What asks comes by a way of its own as well.
  defp gather(came) do
    receive do
      {:number, n} -> gather([n | came])
      {:numbers, from} -> send(from, {:numbers, self(), Enum.reverse(rest(came))})
    end
  end

  defp rest(came) do
    receive do
      {:number, n} -> rest([n | came])
    after
      0 -> came
    end
  end
end
