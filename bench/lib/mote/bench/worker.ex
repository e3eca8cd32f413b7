defmodule Mote.Bench.Worker do
  # Where runs happen: in a node started for them (a fresh OS process, so that nothing is in its memory but the
  # run, with as many processes allowed as the program needs), or here, which is good enough for tests.
  #
  # A place has a keeper of machines: what runs there finds the machine of the run before.
  #
  # The node is a `:peer` that talks over its standard input and output: no distribution, no cookie, no name, and
  # it ends with its parent however that ends.
  @moduledoc false

  alias Mote.Bench.{Files, Keeper, Run, Sample, Variant}

  @boot_timeout 60_000
  @run_timeout :timer.minutes(15)

  # The BEAM's default; a bigger table costs memory, so it is only asked for where it is needed.
  @default_processes 262_144
  @most_processes 134_217_727

  @enforce_keys [:where, :keeper]
  defstruct [:where, :keeper]

  @type t :: %__MODULE__{where: :here | pid, keeper: Keeper.t()}

  @doc "The most processes that any node can have."
  @spec most_processes() :: pos_integer
  def most_processes, do: @most_processes

  @doc """
  Starts a place for runs. Where: `:node` or `:here`. Options of a node: `processes` (0): how many will be alive at once;
  `schedulers` (nil): `nil` is one for each core; `files` (0): how many it and what it starts have open at once, each; `flags`
  ([]): others of the emulator.

  Raises `Mote.Bench.Run.Error` if it cannot be started, or if so many files are not permitted.
  """
  @spec start(:node | :here, keyword) :: t
  def start(where, opts \\ [])

  def start(:here, _opts) do
    {:ok, keeper} = Keeper.start_link()
    %__MODULE__{where: :here, keeper: keeper}
  end

  def start(:node, opts) do
    opts = Keyword.validate!(opts, processes: 0, schedulers: nil, files: 0, flags: [])
    schedulers = if opts[:schedulers], do: ["+S", "#{opts[:schedulers]}"], else: []
    paths = Enum.flat_map(:code.get_path(), &[~c"-pa", &1])
    flags = ["+P", "#{limit(opts[:processes])}"] ++ schedulers ++ opts[:flags]
    args = Enum.map(flags, &to_charlist/1) ++ paths

    options =
      Map.merge(%{connection: :standard_io, args: args, wait_boot: @boot_timeout}, Files.exec(opts[:files]))

    # The node's output goes where that of its parent's own does: an Elixir that starts sets options there, which
    # devices such as that of a test that captures do not know.
    leader = Process.group_leader()
    Process.group_leader(self(), Process.whereis(:user))
    answer = :peer.start(options)
    Process.group_leader(self(), leader)

    case answer do
      {:ok, peer, _name} ->
        started(%__MODULE__{where: peer, keeper: Keeper})

      {:error, reason} ->
        raise Run.Error, message: "cannot start a node to measure in: #{inspect(reason)}"
    end
  end

  defp started(worker) do
    with {:ok, _} <- call(worker, Application, :ensure_all_started, [:mote]),
         {:ok, _} <- call(worker, Keeper, :start, []) do
      worker
    else
      {:error, reason} ->
        stop(worker)
        raise Run.Error, message: "cannot start Mote in the node to measure in: #{inspect(reason)}"
    end
  end

  @doc "Says where programs there have their data from, see `Mote.Bench.Northwind.Data.use/1`."
  @spec use_data(t, Path.t() | nil) :: :ok
  def use_data(worker, directory), do: call(worker, Mote.Bench.Northwind.Data, :use, [directory])

  @doc "Loads a program there, see `Mote.Bench.Run.load/2`. Turns that are meant to be aborted are not logged in a node."
  @spec load(t, module, Variant.t()) :: :ok
  def load(worker, program, variant) do
    if program.about().aborts and worker.where != :here,
      do: call(worker, Logger, :put_module_level, [Mote.Machine.Reporter, :error])

    call(worker, Run, :load, [program, variant])
  end

  @doc "Runs a program there, on the machine that the place keeps for the variant, see `Mote.Bench.Run.once/4`."
  @spec run(t, module, Variant.t(), pos_integer, fresh: boolean, repeats: pos_integer) :: Sample.t()
  def run(worker, program, variant, param, opts),
    do: call(worker, Run, :once, [program, variant, param, [keeper: worker.keeper] ++ opts])

  @doc "Ends the node, or the machines that were kept here, and gives their memory back."
  @spec stop(t) :: :ok
  def stop(%__MODULE__{where: :here, keeper: keeper}), do: Keeper.stop(keeper)

  def stop(%__MODULE__{where: peer}) do
    :peer.stop(peer)
  catch
    # It has ended before.
    :exit, _ -> :ok
  end

  @doc "The process of the operating system that a node is."
  @spec os_pid(t) :: String.t()
  def os_pid(worker), do: call(worker, System, :pid, [])

  @doc false
  # Runs in the node: errors become values, since a peer does not tell the reason of a call that failed.
  def guarded(module, function, args) do
    {:ok, apply(module, function, args)}
  rescue
    error -> {:error, error}
  end

  @doc "Calls a function there, in a process that ends with the call. An error that it raises is raised here."
  @spec call(t, module, atom, list) :: term
  def call(%__MODULE__{where: :here}, module, function, args), do: apply(module, function, args)

  def call(%__MODULE__{where: peer}, module, function, args) do
    case :peer.call(peer, __MODULE__, :guarded, [module, function, args], @run_timeout) do
      {:ok, result} -> result
      {:error, error} -> raise error
    end
  catch
    :exit, {:timeout, _} ->
      minutes = div(@run_timeout, 60_000)
      raise Run.Error, message: "the node did not finish within #{minutes} minutes"

    :exit, _ ->
      raise Run.Error, message: "the node has ended in the middle of a run (out of memory?)"
  end

  # With room for the processes of the system, and the next power of two, as the BEAM would take anyway.
  defp limit(processes), do: limit(processes + 10_000, @default_processes)

  defp limit(needed, limit) when limit >= needed or limit >= @most_processes,
    do: min(limit, @most_processes)

  defp limit(needed, limit), do: limit(needed, limit * 2)
end
