defmodule Mote.Sponsor do
  @moduledoc """
  A sponsor as a value: what `Mote.sponsor/2` returns, to be looked at.

      #Mote.Sponsor<:multi of MyApp.Mote, 4 threads, 1 asleep, 120 queued>

  It is shown as it is at that moment, without waiting for the machine; also when the machine is down or has no such
  sponsor any more.
  """

  alias Mote.{Error, Inspection, Machine}

  @enforce_keys [:machine, :name]
  defstruct [:machine, :name]

  @type t :: %__MODULE__{machine: Machine.t(), name: atom}

  @typedoc "Options of a sponsor, as `Mote.start_link/1` and `Mote.add_sponsor/3` take them."
  @type options :: [
          threads: pos_integer | :cores,
          pin: boolean | [non_neg_integer],
          inbox: pos_integer | :infinity,
          on_full: :error | :wait,
          io: boolean,
          partition: boolean,
          beam: boolean,
          max_concurrency: pos_integer,
          timeout: timeout
        ]

  @doc "See `Mote.sponsor/2`."
  @spec get(Machine.t(), atom) :: t
  def get(machine, name) do
    machine = Machine.handle(machine)

    if name in Machine.sponsors(machine),
      do: %__MODULE__{machine: machine, name: name},
      else: raise(Error.from(:no_sponsor, machine: machine, sponsor: name))
  end

  @doc """
  The pool size for workers, threads or processes, that wait part of the time: for a disk, a network, a
  database.

      cores * utilisation * (1 + wait / compute)

  While one waits, others can compute; a pool of this size keeps the cores as busy as `utilisation` says. In a
  larger one they only wait for each other. (Goetz, "Java Concurrency in Practice", 8.2.)

      iex> Mote.Sponsor.size(wait: 9, compute: 1) == 10 * System.schedulers_online()
      true
      iex> Mote.Sponsor.size(utilisation: 0.5, wait: 0, compute: 20) == max(round(System.schedulers_online() / 2), 1)
      true

  Turns of a machine never wait, so a sponsor that computes needs a thread for each core (`threads: :cores`),
  which is also the result for workers that do not wait. Turns of a beam sponsor may wait, and this is how
  many of them should run at once:

      Mote.add_sponsor(machine, :io, beam: true, max_concurrency: Mote.Sponsor.size(wait: 9, compute: 1))

  Options:

    * `:wait` and `:compute` - the time that one request waits and the time that it computes, both in the same unit;
    * `:utilisation` - the part of the cores' time to use, more than 0 and at most 1 (default 1).

  The cores are the schedulers of the BEAM that are online. The answer is rounded, and at least 1. Raises `ArgumentError`
  for other options and values.
  """
  @spec size(wait: number, compute: number, utilisation: number) :: pos_integer
  def size(opts) do
    opts = Inspection.keyword!(opts, "the options of Mote.Sponsor.size/1", [:wait, :compute, :utilisation])
    opts = Keyword.put_new(opts, :utilisation, 1)
    wait = number!(opts, :wait, "a number of at least 0", &(&1 >= 0))
    compute = number!(opts, :compute, "a number above 0", &(&1 > 0))
    utilisation = number!(opts, :utilisation, "a number above 0 and at most 1", &(&1 > 0 and &1 <= 1))
    max(round(System.schedulers_online() * utilisation * (1 + wait / compute)), 1)
  end

  defp number!(opts, name, what, right?) do
    value = opts[name]

    if is_number(value) and right?.(value),
      do: value,
      else: raise(ArgumentError, "expected :#{name} to be #{what}, got: #{inspect(value)}")
  end

  defimpl Inspect do
    alias Mote.{Machine, Native}

    def inspect(%{machine: machine, name: name}, _opts) do
      "#Mote.Sponsor<#{Kernel.inspect(name)} of #{Machine.label(machine)}, #{state(machine, name)}>"
    end

    defp state(machine, name) do
      with {:ok, native} <- Machine.fetch(machine),
           %{sponsors: %{^name => sponsor}} <- Native.machine_info(native) do
        "#{count(sponsor.threads)}, #{sponsor.asleep} asleep, #{sponsor.queued} queued"
      else
        %{} -> "removed"
        _ -> "down"
      end
    rescue
      # No machine that there can be.
      ArgumentError -> "unknown"
    end

    defp count([_]), do: "1 thread"
    defp count(threads), do: "#{length(threads)} threads"
  end
end
