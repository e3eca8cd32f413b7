defmodule Mote do
  @moduledoc """
  Millions of 16-byte micro-actors inside a BEAM node.

  A machine hosts actors on its own threads, beside the schedulers of the BEAM. Their code is written in Elixir
  syntax (see `Mote.Behaviour`); an actor is created with a behaviour and lives as long as somebody can send to it.

      defmodule Counter do
        use Mote.Behaviour

        defactor counter(count) do
          {customer, :read} -> send customer, count
          {:add, n} -> become counter(count + n)
        end
      end

      {:ok, machine} = Mote.start_link()
      counter = Mote.create(machine, Counter.counter(0))
      Mote.send(counter, {:add, 2})
      {:ok, 2} = Mote.ask(counter, :read)

  ## Messages

  Any term can be sent. The machine works on integers of 63 bits, floats, atoms, tuples, lists, binaries and
  addresses; every other term it carries as it is, and gives back equal. Sends from one process to one actor arrive in
  order. A send to an actor never waits.

  Addresses, pids and customers go both ways inside of messages. An actor that sends to a pid sends a plain message.

  ## Errors

  What can only be a mistake in the program raises `ArgumentError`. What can happen in a correct program is a
  `Mote.Error`: returned where a function gives `{:error, error}`, raised elsewhere.
  """

  import Kernel, except: [send: 2]

  alias Mote.{Address, Behaviour, Customer, Error, Machine, Native}
  alias Mote.Machine.{Loader, Table}

  @ask_timeout 5_000

  @doc """
  Starts a machine, linked to the calling process.

  Options:

    * `:name` - a name for it: an atom, `{:global, term}` or `{:via, module, term}`;
    * `:sponsors` - its sponsors and their threads; at present one sponsor with one thread
      (default `[main: [threads: 1]]`);
    * `:fuel` - calls, tail calls and loop steps that one turn may spend before it is aborted (default 10,000,000).

  Raises `ArgumentError` for anything else.

      iex> {:ok, machine} = Mote.start_link()
      iex> Map.keys(Mote.info(machine).sponsors)
      [:main]
  """
  @spec start_link(keyword) :: GenServer.on_start()
  def start_link(opts \\ []), do: Machine.start_link(opts)

  @doc """
  A child specification: `{Mote, name: MyApp.Mote}` in a list of children.

  Takes the options of `start_link/1`, and `:id`, `:restart` and `:shutdown` as in `Supervisor`.
  """
  @spec child_spec(keyword) :: Supervisor.child_spec()
  def child_spec(opts) do
    {child, opts} = Keyword.split(opts, [:id, :restart, :shutdown])

    Map.merge(
      %{id: Keyword.get(opts, :name) || Mote, start: {Mote, :start_link, [opts]}, type: :worker},
      Map.new(child)
    )
  end

  @doc """
  Creates an actor with a behaviour and gives its address.

  The code of the behaviour's module, and of the modules that it refers to, is loaded into the machine when it is
  not there yet. Options:

    * `:sponsor` - pins the actor to a sponsor: its events always run there.

  Raises `Mote.Error` when the machine is not running or has no memory left, and when the code of the behaviour is
  gone or of another version; raises `ArgumentError` for what is no behaviour or no machine.
  """
  @spec create(Machine.t(), Behaviour.t(), keyword) :: Address.t()
  def create(machine, behaviour, opts \\ [])

  def create(machine, %Behaviour{captures: captures} = behaviour, opts) when is_tuple(captures) do
    sponsor = sponsor!(opts, "create/3")

    with {:ok, native} <- Machine.fetch(machine),
         {:ok, address} <- create_loaded(native, behaviour, sponsor, true) do
      address
    else
      {:error, error} -> raise error
    end
  end

  def create(_machine, other, _opts) do
    raise ArgumentError,
          "expected a behaviour, the value of a function that defactor defines, such as Counter.counter(0); " <>
            "got: #{inspect(other)}"
  end

  defp create_loaded(native, behaviour, sponsor, may_load) do
    %{module: module, name: name, version: version, captures: captures} = behaviour

    unless is_atom(module) and is_atom(name) and version in 0..0xFFFFFFFFFFFFFFFF do
      raise ArgumentError, "the behaviour was not made by its module: #{inspect(Map.from_struct(behaviour))}"
    end

    answer =
      with :big <- Native.create(native, module, name, version, captures, sponsor) do
        Native.create_big(native, module, name, version, captures, sponsor)
      end

    case answer do
      %Address{} = address ->
        {:ok, address}

      :load when may_load ->
        with :ok <- Loader.load(native, module), :ok <- check_version(behaviour) do
          create_loaded(native, behaviour, sponsor, false)
        end

      :load ->
        {:error, undefined(behaviour)}

      word ->
        {:error, Error.from(word, behaviour: behaviour, sponsor: sponsor)}
    end
  end

  defp check_version(%{module: module, version: version} = behaviour) do
    cond do
      {behaviour.name, tuple_size(behaviour.captures)} not in module.__mote__(:behaviours) ->
        {:error, undefined(behaviour)}

      module.__mote__(:hash) != version ->
        {:error,
         Error.new(
           :stale_behaviour,
           "#{inspect(behaviour)} is of another version of #{inspect(module)} than the one that is loaded: " <>
             "make it again with #{inspect(module)}.#{behaviour.name}",
           behaviour: behaviour
         )}

      true ->
        :ok
    end
  end

  defp undefined(%{module: module, name: name, captures: captures} = behaviour) do
    count = tuple_size(captures)

    Error.new(
      :undefined_behaviour,
      "#{inspect(module)} has no behaviour #{name} with #{count} captures",
      behaviour: behaviour
    )
  end

  @doc """
  Sends a message and returns at once.

  The target is an address, a customer or a pid. Options:

    * `:sponsor` - the sponsor in which the cascade of this message runs, unless the target is pinned.

  Raises `Mote.Error` when the address's machine is not running, and `ArgumentError` for what is no address.
  """
  @spec send(Address.t() | Customer.t() | pid, term, keyword) :: :ok
  def send(target, message, opts \\ [])

  def send(%Address{machine: machine, key: key} = address, message, opts) do
    sponsor = sponsor!(opts, "send/3") || address.sponsor

    answer =
      with :big <- Native.send(machine, key, sponsor, message) do
        Native.send_big(machine, key, sponsor, message)
      end

    case answer do
      :ok -> :ok
      word -> raise Error.from(word, address: address, sponsor: sponsor)
    end
  end

  def send(%Customer{ref: ref} = customer, message, opts) do
    sponsor!(opts, "send/3")

    # A customer who has an answer or has given up takes no other: nothing that the sender could do about.
    if Native.answer(ref, message) == :unknown do
      raise ArgumentError, "#{inspect(customer)} was not made by Mote.ask/3: its reference is #{inspect(ref)}"
    end

    :ok
  end

  def send(pid, message, opts) when is_pid(pid) do
    sponsor!(opts, "send/3")
    Kernel.send(pid, message)
    :ok
  end

  def send(other, _message, _opts) do
    raise ArgumentError, "expected an address, a customer or a pid to send to, got: #{inspect(other)}"
  end

  @doc """
  Sends `{customer, request}` and waits for the answer, at most `timeout` milliseconds (or `:infinity`).

  Errors are `:timeout`, `:machine_down`, `:broken_promise` (everybody who had the customer is gone) and
  `:unknown_address`. An answer that comes too late is thrown away and never reaches the mailbox.
  """
  @spec ask(Address.t(), term, timeout) :: {:ok, term} | {:error, Error.t()}
  def ask(address, request, timeout \\ @ask_timeout)

  def ask(%Address{machine: machine, key: key} = address, request, timeout) do
    sponsor = address.sponsor

    question(address, timeout, fn tag ->
      with :big <- Native.ask(machine, key, sponsor, request, tag) do
        Native.ask_big(machine, key, sponsor, request, tag)
      end
    end)
  end

  def ask(other, _request, _timeout) do
    raise ArgumentError, "expected the address of an actor to ask, got: #{inspect(other)}"
  end

  @doc """
  As `ask/3`, but gives the answer itself and raises `Mote.Error`.
  """
  @spec ask!(Address.t(), term, timeout) :: term
  def ask!(address, request, timeout \\ @ask_timeout) do
    case ask(address, request, timeout) do
      {:ok, answer} -> answer
      {:error, error} -> raise error
    end
  end

  @doc """
  What a machine or an actor is.

  Of a machine: `counters` (turns, sends, creates, … since its start), `memory` (bytes), `sponsors`, `inbox` (messages
  that wait to enter), `references` (actors that Elixir terms refer to), `uptime` (milliseconds) and `name`. The
  counters may be a fraction of a millisecond old.

  Of an address: `behaviour`, with its captures, as it is between two turns, or `:sink`; `machine`, the process;
  `address`. It waits for the machine, up to five seconds.

  Raises `Mote.Error` when the machine is not running.
  """
  @spec info(Machine.t() | Address.t()) :: map
  def info(machine_or_address)

  def info(%Address{machine: machine, key: key} = address) do
    case question(address, @ask_timeout, &Native.actor_info(machine, key, &1)) do
      {:ok, {module, name, version, captures}} ->
        %{
          address: address,
          machine: Native.machine_owner(machine),
          behaviour: behaviour(module, name, version, captures)
        }

      {:error, error} ->
        raise error
    end
  end

  def info(machine) do
    with {:ok, native} <- Machine.fetch(machine),
         %{} = info <- Native.machine_info(native) do
      Map.put(info, :name, Table.name(Native.machine_owner(native)))
    else
      {:error, error} -> raise error
      :stopped -> raise Error.from(:stopped, machine: machine)
    end
  end

  defp behaviour(nil, :sink, _, _), do: :sink

  defp behaviour(module, name, version, captures),
    do: %Behaviour{module: module, name: name, version: version, captures: captures}

  @doc """
  Loads the code of a module, and of those that it refers to, ahead of the first `create/3`.

  Does nothing for modules that the machine has in their present version. Actors that exist move to a new version at
  their next `become`.
  """
  @spec load(Machine.t(), module) :: :ok | {:error, Error.t()}
  def load(machine, module) when is_atom(module) do
    with {:ok, native} <- Machine.fetch(machine), do: Loader.load(native, module)
  end

  def load(_machine, other), do: raise(ArgumentError, "expected a module, got: #{inspect(other)}")

  @doc """
  Stops a machine: its threads end at their next turn, its actors are gone. As `GenServer.stop/3`.
  """
  @spec stop(Machine.t(), term, timeout) :: :ok
  def stop(machine, reason \\ :normal, timeout \\ :infinity), do: GenServer.stop(machine, reason, timeout)

  # -- questions -----------------------------------------------------------------------------------------------

  # The tag of the one message that comes back is the monitor of the machine's process: so the wait looks only at
  # messages that arrive after it, however long the mailbox is.
  defp question(address, timeout, ask) do
    timeout!(timeout)

    case Native.machine_owner(address.machine) do
      pid when is_pid(pid) ->
        tag = Process.monitor(pid)

        case ask.(tag) do
          customer when is_reference(customer) ->
            result = await(tag, customer, address, timeout)
            Process.demonitor(tag, [:flush])
            result

          word ->
            Process.demonitor(tag, [:flush])
            {:error, Error.from(word, address: address, sponsor: address.sponsor)}
        end

      :unknown ->
        {:error, Error.from(:unknown, address: address)}
    end
  end

  defp await(tag, customer, address, timeout) do
    receive do
      {^tag, answer} -> {:ok, answer}
      {^tag, :mote_failed, reason} -> {:error, Error.from(reason, address: address)}
      {:DOWN, ^tag, _, _, _} -> give_up(tag, customer, address, :machine_down, [])
    after
      timeout -> give_up(tag, customer, address, :timeout, timeout: timeout)
    end
  end

  # Whoever answers says so before it sends. So when giving up fails, the message is certain to come, unless the
  # machine breaks down in that very moment.
  defp give_up(tag, customer, address, reason, context) do
    cond do
      Native.cancel(customer) -> {:error, Error.from(reason, [address: address] ++ context)}
      reason == :machine_down -> last(tag, address, 1_000)
      true -> last(tag, address, :infinity)
    end
  end

  defp last(tag, address, timeout) do
    receive do
      {^tag, answer} -> {:ok, answer}
      {^tag, :mote_failed, reason} -> {:error, Error.from(reason, address: address)}
      {:DOWN, ^tag, _, _, _} -> last(tag, address, 1_000)
    after
      timeout -> {:error, Error.from(:machine_down, address: address)}
    end
  end

  # -- options -------------------------------------------------------------------------------------------------

  defp timeout!(:infinity), do: :ok
  defp timeout!(timeout) when is_integer(timeout) and timeout in 0..0xFFFFFFFF, do: :ok

  defp timeout!(other) do
    raise ArgumentError, "expected a timeout in milliseconds or :infinity, got: #{inspect(other)}"
  end

  defp sponsor!([], _), do: nil
  defp sponsor!([sponsor: sponsor], _) when is_atom(sponsor), do: sponsor

  defp sponsor!(opts, function) do
    raise ArgumentError,
          "expected the options of #{function} to be [sponsor: name] or [], got: #{inspect(opts)}"
  end
end
