defmodule Mote.Durable do
  @moduledoc """
  Machines that survive the end of their node: everything that comes in is written into a journal before it runs.

      {:ok, machine} = Mote.start_link(durable: [dir: "/var/lib/shop"])

  After a crash, `kill -9` included, the same call restores the machine as it was, with its addresses. `Mote.send/3`
  returns when the disk has the message. `Mote.ask/3` returns an answer only if the disk had the request before it
  ran. The guide [Durable machines in detail](durable.md) lists the promises and limits of durable machines.

  Options of `durable:`

    * `:dir` - the folder of the machine, which is created if it does not exist. Only one machine can use it;
    * `:sync` - what an acknowledgement waits for. `:batch` (the default) and `:always` wait for the disk once for
      everything that has come together. If several processes wait at once, `:batch` first gathers for a moment what
      they are about to send. `:os` leaves writing to the system, so acknowledged messages survive the end of the
      node, but not a power failure;
    * `:image_every` - bytes of the journal after which a new image replaces the image and the journal (default 64
      MiB). A start runs at most that much again;
    * `:numbered` - `true` for messages to processes of the form `{:mote_told, number, message}`, counted through all
      lives. A process that misses a number has lost a message in a crash (default `false`). Answers have no number;
    * `:take_over` - `true` for a machine that takes over its folder if that is a copy of another machine's: see
      `copy/2` (default `false`).
  """

  alias Mote.{Error, Image, Machine, Native}
  alias Mote.Durable.{Copy, Keeper}
  alias Mote.Machine.{Options, Question}

  @defaults [dir: nil, sync: :batch, image_every: 64 * 1024 * 1024, numbered: false, take_over: false]

  @typedoc "The result of `info/1`."
  @type info :: %{
          dir: String.t(),
          number: pos_integer,
          bytes: non_neg_integer,
          told: non_neg_integer,
          batches: non_neg_integer,
          microseconds: non_neg_integer
        }

  @typedoc false
  # Of a machine that is recorded, `:sync` is `:none`.
  @type t :: %{
          dir: String.t(),
          sync: :batch | :always | :os | :none,
          image_every: pos_integer | :infinity,
          numbered: boolean,
          take_over: boolean
        }

  @typedoc "The result of `copied/1`."
  @type copied :: %{
          state: :copying | :following | :away | :taken_over,
          node: node,
          dir: String.t(),
          number: non_neg_integer,
          journal: {pos_integer, non_neg_integer} | nil,
          entries: non_neg_integer,
          behind: non_neg_integer | nil
        }

  @doc """
  Makes an image of a durable machine now, and begins a new journal. From then on `Mote.names/1` returns `names`, in
  this life and the next ones: an entry point such as `%{accounts: address}`. The default is its present result.
  Directories that `Mote.Directory.start_link/1` has given a name stay among them.

  Returns the `Mote.Image` when the disk has it. Raises `ArgumentError` for a machine that is not durable.
  """
  @spec checkpoint(Machine.t(), map | nil) :: {:ok, Image.t()} | {:error, Error.t()}
  def checkpoint(machine, names \\ nil) do
    unless names == nil or (is_map(names) and not is_struct(names)) do
      raise ArgumentError, "expected the second argument of checkpoint/2 to be a map, got: #{inspect(names)}"
    end

    with {:ok, pid} <- keeper(machine), do: Keeper.checkpoint(pid, names)
  end

  @doc """
  Returns the state of a machine's journal: its folder, the number of its image, the bytes of the journal, how many
  messages the machine has told processes in all lives, and how many batches were written in this life, in how many
  microseconds. Raises `ArgumentError` for a machine that is not durable.
  """
  @spec info(Machine.t()) :: {:ok, info} | {:error, Error.t()}
  def info(machine) do
    with {:ok, pid} <- keeper(machine), do: Keeper.info(pid)
  end

  @doc """
  Copies a durable machine to a folder of another node: its image, and then the entries of its journal once the disk
  of this node has them. A machine that is started there with `durable: [dir: folder, take_over: true]` goes on from
  the last entry that has arrived. The guide [Durable machines in detail](durable.md#a-warm-standby) says what is lost
  and what is not.

      {:ok, copy} = Mote.Durable.copy(MyApp.Mote, node: :"b@host", dir: "/var/lib/shop")

  Options:

    * `:node` - a node with the same version of Mote, where Mote is running (required);
    * `:dir` - a folder there (required). It is new, or an earlier copy of this machine's folder, which is then
      continued;
    * `:wait` - `true` for a machine that acknowledges, answers and tells nothing that the copy does not have, once
      the copy has caught up (default `false`).

  Returns a process, which ends with the machine. `copied/1` says how far it is, and `GenServer.stop/1` ends the
  copying. The folder stays a copy.

  Errors are `:noconnection`, `:dir_taken` (it is the folder of a machine, or of another one's copy), `:journal` (it cannot be written), and
  `:copied` (the machine has a copy already). Raises `ArgumentError` for a machine that is not durable, and for other options.
  """
  @spec copy(Machine.t(), node: node, dir: String.t(), wait: boolean) :: {:ok, pid} | {:error, Error.t()}
  def copy(machine, opts) do
    unless Keyword.keyword?(opts) and Keyword.keys(opts) -- [:node, :dir, :wait] == [] do
      raise ArgumentError, "expected the options of copy/2 to be :node, :dir and :wait, got: #{inspect(opts)}"
    end

    Options.path!(opts[:dir], "the :dir of copy/2")
    opts = Keyword.put_new(opts, :wait, false)
    option!(opts, :node, "a node, an atom", &(is_atom(&1) and &1 not in [nil, true, false]), "of copy/2")
    option!(opts, :wait, "true or false", &is_boolean/1, "of copy/2")
    with {:ok, pid} <- keeper(machine), do: Keeper.copy(pid, Map.new(opts))
  end

  @doc """
  Returns how far a copy is, given the process that `copy/2` has returned:

    * `:state` - `:copying` until it has caught up; `:following`; `:away` while the other node cannot be reached, has not written a step
      within 15 seconds, or is about to take over, which is tried twice a second; or `:taken_over`, when a machine there has taken over.
      Then nothing is copied any more;
    * `:node`, `:dir` - where it is;
    * `:number` - the number of its image, 0 before one has arrived;
    * `:journal` - the number of its last journal, and how many bytes of that have arrived, to be compared with
      `:number` and `:bytes` of `info/1`: the copy has caught up if it is not less. `nil` before one has arrived;
    * `:entries` - entries of journals that have arrived;
    * `:behind` - bytes that the disk of this node has and the other one has not; `nil` if that is not known at the
      moment.
  """
  @spec copied(pid) :: copied
  defdelegate copied(copy), to: Copy, as: :info

  @doc false
  # Lets each later life of a durable machine find a value under that name, whichever names `checkpoint/2` is given. Of another machine
  # nothing outlives it.
  @spec keep(Machine.t(), atom, term) :: :ok | {:error, Error.t()}
  def keep(machine, name, value) do
    case find(machine) do
      {:ok, nil} -> :ok
      {:ok, pid} -> Keeper.keep(pid, name, value)
      {:error, error} -> {:error, error}
    end
  end

  defp keeper(machine) do
    with {:ok, nil} <- find(machine),
         do: raise(ArgumentError, "#{inspect(machine)} is not durable: see Mote.Durable")
  end

  defp find(machine) do
    with {:ok, native} <- Machine.fetch(machine),
         do: {:ok, GenServer.call(Native.machine_owner(native), :keeper)}
  catch
    :exit, _ -> {:error, Error.from(:stopped, machine: machine)}
  end

  @doc false
  # Waits until the disk has what a process has put into a durable machine.
  @spec synced(reference, keyword) :: :ok | {:error, Error.t()}
  def synced(native, context) do
    case Question.put(native, :infinity, context, &Native.journal_wait(native, &1)) do
      {:ok, :ok} ->
        :ok

      # Also one that has ended before it was asked: it may have written it.
      {:error, %Error{reason: :machine_down} = error} ->
        {:error, %{error | context: Map.put_new(error.context, :accepted, 1)}}

      {:error, error} ->
        {:error, error}
    end
  end

  @doc false
  @spec options!(nil | keyword) :: nil | t
  def options!(nil), do: nil

  def options!(opts) do
    unless Keyword.keyword?(opts) and Keyword.keys(opts) -- Keyword.keys(@defaults) == [] do
      raise ArgumentError,
            "expected the options of :durable to be :dir, :sync, :image_every, :numbered and :take_over, got: #{inspect(opts)}"
    end

    opts = Keyword.merge(@defaults, opts)
    Options.path!(opts[:dir], "the :dir of :durable")
    option!(opts, :sync, ":batch, :always or :os", &(&1 in [:batch, :always, :os]))
    option!(opts, :image_every, "a positive number of bytes", &(is_integer(&1) and &1 > 0))
    option!(opts, :numbered, "true or false", &is_boolean/1)
    option!(opts, :take_over, "true or false", &is_boolean/1)
    %{Map.new(opts) | dir: Path.expand(opts[:dir])}
  end

  defp option!(opts, key, expected, good?, of \\ "of :durable") do
    unless good?.(opts[key]),
      do:
        raise(
          ArgumentError,
          "expected #{inspect(key)} #{of} to be #{expected}, got: #{inspect(opts[key])}"
        )
  end

  @doc false
  # That a machine of these options does nothing that its journal could not tell again.
  @spec possible!(map) :: :ok
  def possible!(%{durable: nil}), do: :ok

  def possible!(config) do
    what_it_is = if config.durable.sync == :none, do: "recorded", else: "durable"

    alone? =
      case config.sponsors do
        [{_name, 1, _cores, _inbox, _patient, nil, {false, _partition}}] -> true
        _ -> false
      end

    for {good?, what} <- [
          {alone?, "one sponsor with one thread, neither beam: true nor io: true"},
          {config.schedule == nil, "schedule: :threads"},
          {config.clock == :system, "clock: :system"},
          {config.image == nil or what_it_is == "recorded", "no :image: it goes on from what is in its :dir"}
        ],
        not good?,
        do: raise(ArgumentError, "a #{what_it_is} machine has #{what}")

    :ok
  end
end
