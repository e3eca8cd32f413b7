defmodule Mote.FarCounts do
  @moduledoc """
  What tests that count messages between nodes do on each node (`Mote.TwoNodes`).
  """

  import Mote.Eventually

  alias Mote.Far.{Gate, Porter}
  alias Mote.Processes

  defmodule Behaviours do
    @moduledoc false
    use Mote.Behaviour

    # How many numbers have come, and how many of them after a greater one.
    defactor checking(last, count, back) do
      {customer, :look} -> send customer, {count, back}
      n when n > last -> become checking(n, count + 1, back)
      _ -> become checking(last, count + 1, back + 1)
    end

    # Sends the numbers that it is told on.
    defactor sending(to) do
      {from, upto} -> for n <- from..upto, do: send(to, n)
    end

    defactor shouting(pid) do
      count -> for n <- 1..count, do: send(pid, n)
    end
  end

  @doc "Runs a function of this module on a node."
  def at(peer, function, args \\ []), do: :peer.call(peer, __MODULE__, function, args, 120_000)

  @doc "Sends numbers, and ends the connection after each of `cuts`; returns how many were accepted."
  def pump(address, numbers, cuts) do
    for n <- numbers do
      :ok = Mote.send(address, n, on_full: :wait, timeout: :infinity)
      if n in cuts, do: :erlang.disconnect_node(node(address.machine))
    end

    Enum.count(numbers)
  end

  @doc "The same by an actor, which sends a hundred in each turn."
  def pump_by_actor(machine, address, hundreds, cuts) do
    sending = Mote.create(machine, Behaviours.sending(address))

    for n <- 1..hundreds//1 do
      :ok = Mote.send(sending, {100 * n - 99, 100 * n})
      if n in cuts, do: :erlang.disconnect_node(node(address.machine))
    end

    :ok = Mote.drain(machine, 60_000)
    eventually(fn -> Mote.info(machine).mail == 0 end)
    # What the postman had then it has given to the courier.
    :sys.get_state(Processes.postman(Process.whereis(machine)))
    100 * hundreds
  end

  @doc "What a node has counted of another one, once nothing waits for it or is on its way, and nothing is unsure."
  def settled(node) do
    eventually(fn ->
      # Whoever sends connects; this is no message.
      courier = Gate.courier(node)

      with %{porter: porter, line: line} when porter != nil <- :sys.get_state(courier),
           true <- :queue.is_empty(line.on_way),
           %{waiting: 0, unsure: 0} = counts <- Mote.nodes()[node],
           ^courier <- Gate.courier(node),
           do: counts,
           else: (_ -> nil)
    end)
  catch
    # The courier has just ended.
    :exit, _ -> settled(node)
  end

  def counts(node), do: Mote.nodes()[node]

  @doc "What `checking` has counted, once that is so many, or nothing is left to come."
  def looked(address), do: Mote.ask!(address, :look, 60_000)

  @doc "The porters of this node, and which of them wait for a sponsor."
  def porters do
    for {_, pid, _, [Porter]} <- DynamicSupervisor.which_children(Mote.Far.Supervisor),
        {:current_function, {module, _, _}} = Process.info(pid, :current_function),
        do: {pid, module == Mote.Machine.Question}
  end

  @doc "Waits until that many porters are there, of which one waits for a sponsor."
  def stuck(count) do
    eventually(fn ->
      porters = porters()
      length(porters) == count and Enum.count(porters, &elem(&1, 1)) == 1
    end)

    :ok
  end

  @doc "Sends numbers while the courier that this node looks for has just been killed; returns how many."
  def send_to_ended(address, count) do
    courier = Gate.courier(node(address.machine))
    # What it has sent was taken in, as far as it knows.
    eventually(fn -> :queue.is_empty(:sys.get_state(courier).line.on_way) end)
    :ok = :sys.suspend(Gate)
    ref = Process.monitor(courier)
    Process.exit(courier, :kill)

    receive do
      {:DOWN, ^ref, _, _, _} -> :ok
    end

    for n <- 1..count, do: :ok = Mote.send(address, n)
    :ok = :sys.resume(Gate)
    eventually(fn -> Gate.courier(node(address.machine)) != courier end)
    count
  end

  @doc "Sends numbers and looks, again and again: what of them was neither done nor queued when the function returned."
  def missing_after(address, rounds, function) do
    for round <- 1..rounds do
      for n <- 1..100, do: :ok = Mote.send(address, 100 * round + n)
      100 * round - done(function, address)
    end
  end

  defp done(:info, address) do
    %{behaviour: %{captures: {_, count, _}}, queued: queued} = Mote.info(address)
    count + queued
  end

  # As that node sees it as soon as the machine is quiet.
  defp done(machine, address) do
    :ok = Mote.drain(machine, 60_000)
    :erpc.call(node(address.machine), __MODULE__, :count_of, [address])
  end

  def count_of(address), do: elem(Mote.info(address).behaviour.captures, 1)

  @doc "Hears numbers until a machine of another node is down: how many before, and how many after that."
  def hear_of(machine) do
    pid =
      spawn(fn ->
        ref = Mote.monitor(machine)
        before = until_down(ref, 0)

        receive do
          {:tell, from} -> send(from, {before, Process.info(self(), :message_queue_len)})
        end
      end)

    # It monitors by then.
    eventually(fn -> Process.info(pid, :monitors) != {:monitors, []} end)
    pid
  end

  defp until_down(ref, count) do
    receive do
      {:DOWN, ^ref, :process, _, reason} -> {count, reason}
      n when is_integer(n) -> until_down(ref, count + 1)
    end
  end

  def heard(pid) do
    send(pid, {:tell, self()})

    receive do
      heard -> heard
    end
  end

  @doc "Has an actor of a machine tell numbers to a process, and stops the machine in order."
  def shout_and_stop(machine, pid, count) do
    Mote.send(Mote.create(machine, Behaviours.shouting(pid)), count)
    :ok = Mote.drain(machine, 60_000)
    Mote.stop(machine)
  end

  def try_stop(machine) do
    Mote.stop(machine)
  catch
    :exit, reason -> {:exit, reason}
  end

  @doc "What each function returns or raises of a machine and an address whose node does nothing; and whether it came in time."
  def frozen(address, machine) do
    calls = [
      drain: fn -> Mote.drain(machine, 200) end,
      gc: fn -> Mote.gc(machine, 200) end,
      info: fn -> Mote.info(address) end,
      info_of_machine: fn -> Mote.info(machine) end,
      sponsors: fn -> Mote.sponsors(machine) end,
      top: fn -> Mote.top(machine, for: 0, timeout: 100) end,
      behaviours: fn -> Mote.behaviours(machine, for: 0, timeout: 100) end,
      monitor: fn -> down(Mote.monitor(address)) end,
      stop: fn -> Mote.stop(machine, :normal, 200) end
    ]

    calls
    |> Enum.map(fn {name, call} -> {name, Task.async(fn -> outcome(call) end)} end)
    |> Enum.map(fn {name, task} -> {name, Task.await(task, 60_000)} end)
  end

  defp down(ref) do
    receive do
      {:DOWN, ^ref, _, _, reason} -> reason
    end
  end

  defp outcome(call) do
    with {:error, error} <- call.(), do: error.reason
  rescue
    error in Mote.Error -> error.reason
  catch
    :exit, {reason, _} -> {:exit, reason}
  end

  @doc "A gate as another version of Mote has it, in the place of this node's."
  def refuse do
    :ok = Application.stop(:mote)

    pid =
      spawn(fn ->
        Process.register(self(), Gate)
        refuse_all()
      end)

    eventually(fn -> Process.whereis(Gate) == pid end)
    :ok
  end

  defp refuse_all do
    receive do
      {:mote_hello, courier, _protocol} -> send(courier, {:mote_refused, 1})
    end

    refuse_all()
  end

  @doc "Sends numbers to an address of a node that refuses this one; how often that was logged, what was counted, and what a question says."
  def refused(address, count) do
    counter = :counters.new(1, [])
    :ok = :logger.add_handler(:refused, __MODULE__, %{counter: counter})
    for n <- 1..count, do: :ok = Mote.send(address, n)
    {:error, error} = Mote.ask(address, :anything)
    counts = eventually(fn -> with %{waiting: 0} = counts <- counts(node(address.machine)), do: counts end)
    :ok = :logger.remove_handler(:refused)
    {:counters.get(counter, 1), counts, error}
  end

  @doc false
  def log(%{msg: {:string, text}}, %{counter: counter}) do
    if IO.iodata_to_binary(text) =~ "protocol", do: :counters.add(counter, 1, 1)
  end

  def log(_event, _config), do: :ok
end
