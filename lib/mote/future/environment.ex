defmodule Mote.Future.Environment do
  @moduledoc """
  The environment in which the futures of a block run: see `Mote.Future.with_environment/3`.
  """

  alias Mote.{Machine, Native}
  alias Mote.Future.Keeper

  @enforce_keys [:machine, :sponsor, :resource]
  defstruct [:machine, :sponsor, :resource, before_start: [], after_finish: [], keeper: nil]

  @typedoc "An environment. Its fields are private."
  @type t :: %__MODULE__{
          machine: reference,
          sponsor: atom,
          resource: reference,
          before_start: [({term, term} -> term)],
          after_finish: [(Mote.Future.t() -> term)],
          keeper: pid | nil
        }

  @doc false
  @spec current() :: t | nil
  def current, do: Process.get(__MODULE__)

  @doc false
  @spec run(Machine.t(), keyword, keyword, (... -> result)) :: result when result: term
  def run(machine, sponsor, hooks, fun) do
    hooks =
      Map.new([before_start: [], after_finish: []] ++ hooks, fn {name, funs} -> {name, funs!(name, funs)} end)

    environment = struct!(open(machine, sponsor, hooks.after_finish), hooks)
    outer = Process.put(__MODULE__, environment)

    try do
      fun.()
    after
      if outer, do: Process.put(__MODULE__, outer), else: Process.delete(__MODULE__)
      Native.environment_kill(environment.resource, true)
      Keeper.release(environment.keeper, environment.machine, environment.sponsor)
    end
  end

  defp funs!(name, funs) do
    unless is_list(funs) and Enum.all?(funs, &is_function(&1, 1)) do
      raise ArgumentError,
            "expected #{inspect(name)} to be a list of functions of one argument, got: #{inspect(funs)}"
    end

    funs
  end

  defp open(machine, sponsor, after_finish) do
    native = Machine.fetch!(machine)
    resource = Native.environment()

    with {:ok, keeper, name} <- Keeper.start(native, resource, sponsor, after_finish),
         do: %__MODULE__{machine: native, sponsor: name, resource: resource, keeper: keeper},
         else: ({:error, error} -> raise(error))
  end

  @doc false
  @spec kill_all(t) :: non_neg_integer
  def kill_all(%__MODULE__{resource: resource}), do: Native.environment_kill(resource, false)

  @doc false
  # Calls the hooks of an environment; other places have none.
  @spec before_start(t | map, term, term) :: :ok
  def before_start(%__MODULE__{before_start: [_ | _] = hooks}, what, argument) do
    Enum.each(hooks, & &1.({what, argument}))
  end

  def before_start(_place, _what, _argument), do: :ok

  @doc false
  @spec started(t | map, Mote.Future.t()) :: :ok
  def started(%__MODULE__{after_finish: [_ | _], keeper: keeper}, future), do: Keeper.watch(keeper, future)
  def started(_place, _future), do: :ok

  defimpl Inspect do
    def inspect(%{sponsor: sponsor}, _opts), do: "#Mote.Future.Environment<#{Kernel.inspect(sponsor)}>"
  end
end
