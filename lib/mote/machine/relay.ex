defmodule Mote.Machine.Relay do
  # Sends what a machine's actors have for processes of one other node, in order, and may be suspended by that: so the postman is not.
  #
  # 1. It ends when it has sent everything: a while after it got something it asks the postman, which ends it if nothing is on its way to
  #    it. So there is none for a node that is not sent to.
  # 2. The postman monitors it, and starts another one where it was killed. What that one had not sent is lost, and counted: what the
  #    postman has given it, less what it has counted as sent.
  # 3. It is a `GenServer`, as all processes of Mote are that wait for long: a process that waits in a function of its own module is killed
  #    when that module is loaded a second time.
  @moduledoc false

  use GenServer, restart: :temporary

  # Milliseconds after which it asks whether it may end.
  @rest 100

  # Milliseconds without progress after which the end of a machine does not wait for it any longer.
  @patience 1_000

  @enforce_keys [:pid, :monitor, :sent]
  defstruct [:pid, :monitor, :sent, given: 0]

  @typedoc "The postman's record of a relay: its process, and how many messages it was given and has sent."
  @type t :: %__MODULE__{
          pid: pid,
          monitor: reference,
          sent: :counters.counters_ref(),
          given: non_neg_integer
        }

  @doc "Starts one for a node, which belongs to the calling postman."
  @spec start(node) :: t
  def start(node) do
    sent = :counters.new(1, [])
    {:ok, pid} = GenServer.start(__MODULE__, {self(), node, sent})
    %__MODULE__{pid: pid, monitor: Process.monitor(pid), sent: sent}
  end

  @doc "Gives it messages for a process."
  @spec give(t, pid, [term]) :: t
  def give(relay, to, messages) do
    send(relay.pid, {to, messages})
    %{relay | given: relay.given + length(messages)}
  end

  @doc "Returns how many messages it has been given and has not sent."
  @spec waiting(t) :: non_neg_integer
  def waiting(relay), do: relay.given - :counters.get(relay.sent, 1)

  @doc "Has it end when it has sent everything, and does not wait for that."
  @spec finish(t) :: :ok
  def finish(relay) do
    send(relay.pid, :mote_end)
    :ok
  end

  @doc "Waits until it has ended, as long as it gets on."
  @spec await(t) :: :ok
  def await(relay), do: await(relay, waiting(relay))

  defp await(%{monitor: monitor} = relay, left) do
    receive do
      {:DOWN, ^monitor, :process, _, _} -> :ok
    after
      @patience -> if waiting(relay) < left, do: await(relay, waiting(relay)), else: :ok
    end
  end

  @impl GenServer
  def init({postman, node, sent}) do
    Process.monitor(postman)
    {:ok, %{postman: postman, node: node, sent: sent, resting: false}}
  end

  @impl GenServer
  def handle_info({pid, messages}, state) when is_pid(pid) and is_list(messages) do
    Enum.each(messages, fn message ->
      send(pid, message)
      :counters.add(state.sent, 1, 1)
    end)

    unless state.resting, do: Process.send_after(self(), :mote_rest, @rest)
    {:noreply, %{state | resting: true}}
  end

  def handle_info(:mote_rest, state) do
    send(state.postman, {:mote_idle, state.node})
    {:noreply, %{state | resting: false}, :hibernate}
  end

  # What came before is passed on: see `Mote.Machine.Ending`.
  def handle_info({:mote_passed_on, asker, tag}, state) when is_pid(asker) do
    send(asker, {:mote_passed_on, tag})
    {:noreply, state}
  end

  def handle_info(:mote_end, state), do: {:stop, :normal, state}

  # The end of the postman is reported after everything that it has sent.
  def handle_info({:DOWN, _, :process, postman, _}, %{postman: postman} = state), do: {:stop, :normal, state}

  use Mote.Internal.Stray

  defp who(state), do: "relay #{inspect(self())} to #{state.node}"
end
