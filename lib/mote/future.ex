defmodule Mote.Future do
  @moduledoc """
  Futures: values that a machine computes while the caller goes on.

      Mote.Future.with_environment(MyApp.Mote, [max_threads: 4], fn ->
        futures = for n <- 20..30, do: Mote.Future.future(&Fib.fib/1, [n])
        Enum.map(futures, &Mote.Future.touch/1)
      end)

  A future computes a call of a `defpure` function, or runs a behaviour for one request. The value is kept as
  long as something refers to the future: any process of the node can touch it, at any time and as often as it
  likes. It causes no message unless a process waits, and no process has to wait.

      iex> defmodule Doc.Fib do
      ...>   use Mote.Behaviour
      ...>   defpure fib(n) when n < 2 do n end
      ...>   defpure fib(n) do fib(n - 1) + fib(n - 2) end
      ...> end
      iex> {:ok, machine} = Mote.start_link()
      iex> future = Mote.Future.future(&Doc.Fib.fib/1, [20], machine: machine)
      iex> {Mote.Future.touch(future), Mote.Future.touch(future)}
      {6765, 6765}
      iex> {Mote.Future.finished?(future), Mote.Future.poll(future), Mote.Future.kill(future)}
      {true, {:ok, 6765}, false}
      iex> Mote.Future.with_environment(machine, [max_threads: 2], fn ->
      ...>   futures = for n <- 1..5, do: Mote.Future.future(&Doc.Fib.fib/1, [n])
      ...>   {:ok, _first} = Mote.Future.wait_for_any(futures)
      ...>   :ok = Mote.Future.wait_for_all(futures)
      ...>   {Mote.Future.kill_all(), Enum.map(futures, &Mote.Future.touch/1)}
      ...> end)
      {0, [1, 1, 2, 3, 5]}

  `future/3` starts one and `touch/2` returns its value. `wait_for/2`, `wait_for_any/2` and `wait_for_all/2` only wait.
  `kill/1` and `kill_all/1` give up on them. `with_environment/3` gives those of a block a sponsor of their own, with as
  many threads as may run at once, and hooks. These are the operations of the Common Lisp library *future*
  (Mathematical Systems Inc., after *cl-future*), where a future is a closure in a thread pool.

  ## Failure

  A future without a value raises `Mote.Error` when it is touched. The reasons are

    * `:aborted` - the call was aborted, or the turn in which a behaviour was given the request; `context.reason` says why,
      as the guide *The IR* lists it;
    * `:broken_promise` - nothing is left that could answer the request;
    * `:answer_too_large` - there is an answer, but written out it is larger than the memory of the machine;
    * `:killed` - by `kill/1`, `kill_all/1`, or the end of its environment;
    * `:machine_down` - the machine ended.

  ## Killing

  A call that is killed before its turn begins never runs. A turn that runs already, of a call or of a behaviour that
  was given the request, is aborted where it looks at its fuel the next time, within some tens of microseconds (a single
  operation on a large term may take longer). Like every aborted turn it leaves nothing behind, and the sponsor goes on.
  `Mote.info/1` counts those as `aborts_killed`. A behaviour that works in many turns sees that its customer was killed
  when `is_address(customer)` is false. A future that nothing refers to any more is killed, too, but only a
  call is aborted then: a behaviour's work may be wanted without its answer.
  """

  import Mote.Internal.Expected, only: [expected!: 2]

  alias Mote.{Behaviour, Error, Machine, Native}
  alias Mote.Future.Environment
  alias Mote.Machine.{Creator, Long, Question, Questions, SponsorOptions}
  require Long

  @environment [:max_threads, :before_start, :after_finish, :pin, :inbox]

  @enforce_keys [:ref, :machine, :about]
  defstruct [:ref, :machine, :about]

  @typedoc "A future. Its fields are private."
  @type t :: %__MODULE__{ref: reference, machine: reference, about: {module, atom, arity}}

  @typedoc "The computation: a `defpure` function such as `&Fib.fib/1`, or a behaviour."
  @type what :: fun | Behaviour.t()

  @doc """
  Starts a computation.

  For a `defpure` function, written `&Module.name/arity`, the second argument is the list of its arguments.
  For a behaviour it is the request: a new actor gets `{customer, request}`, and the first message to the
  customer is the value. Options:

    * `:machine` - the machine that computes it;
    * `:sponsor` - the sponsor that computes it (default: the machine's first one);
    * `:environment` - the environment, from `environment/0`, that it belongs to.

  Within `with_environment/3` no option is needed. Raises `Mote.Error` when the machine is not running, or has no
  memory left or no such sponsor. Raises it, too, when the sponsor is full, even one that has `on_full: :wait`:
  starting never waits. Raises `ArgumentError` for anything that cannot be computed.
  """
  @spec future(what, term, machine: Machine.t(), sponsor: atom, environment: Environment.t()) :: t
  def future(what, argument, opts \\ []) do
    {module, {behaviour, name}, version, captures, call?, arity} = parts(what, argument)
    place = place(opts)
    Environment.before_start(place, what, argument)
    request = if call?, do: List.to_tuple(argument), else: argument
    native = place.machine
    started = {module, behaviour, version, captures, call?}

    answer =
      with :load <- start(native, started, place, request) do
        behaviour = %Behaviour{module: module, name: behaviour, version: version, captures: captures}
        Creator.load(native, behaviour, call?, fn -> start(native, started, place, request) end)
      end

    case answer do
      ref when is_reference(ref) ->
        future = %__MODULE__{ref: ref, machine: native, about: {module, name, arity}}
        Environment.started(place, future)
        future

      {:error, error} ->
        raise error

      :ended ->
        raise ArgumentError, "the block of #{inspect(place)} has ended, and no future starts in it any more"

      word ->
        raise Error.from(word, sponsor: place.sponsor)
    end
  end

  defp start(native, behaviour, %{sponsor: sponsor, resource: resource}, request) do
    Long.call({behaviour, request}, Native.future(native, behaviour, sponsor, request, resource))
  end

  defp parts(%Behaviour{module: module, name: name, version: version, captures: captures}, _request) do
    {module, {name, name}, version, captures, false, tuple_size(captures)}
  end

  # The second guard: a proper list.
  defp parts(function, arguments) when is_function(function) and length(arguments) >= 0 do
    {:module, module} = :erlang.fun_info(function, :module)
    {:name, name} = :erlang.fun_info(function, :name)
    arity = length(arguments)

    if not is_function(function, arity), do: wrong_arguments!(function, arguments)

    with {:type, :external} <- :erlang.fun_info(function, :type),
         {behaviour, version} <- call(module, name, arity) do
      {module, {behaviour, name}, version, {}, true, arity}
    else
      _ -> not_computable!(function)
    end
  end

  defp parts(function, other) when is_function(function),
    do: expected!("the list of the arguments of #{inspect(function)}", other)

  defp parts(other, _argument), do: not_computable!(other)

  @spec wrong_arguments!(fun, list) :: no_return
  defp wrong_arguments!(function, arguments) do
    {:arity, arity} = :erlang.fun_info(function, :arity)
    {:module, module} = :erlang.fun_info(function, :module)
    {:name, name} = :erlang.fun_info(function, :name)
    unless call(module, name, arity), do: not_computable!(function)

    raise ArgumentError,
          "#{inspect(function)} takes #{arity} arguments, got #{length(arguments)}: #{inspect(arguments)}"
  end

  defp call(module, name, arity) do
    module.__mote__({:call, name, arity})
  rescue
    # It has no behaviours, or there is no such module.
    UndefinedFunctionError -> nil
  end

  @spec not_computable!(term) :: no_return
  defp not_computable!(other),
    do: expected!("a defpure function with its module, such as &Fib.fib/1, or a behaviour", other)

  # Where it runs: like an environment, be it one or not.
  defp place([]) do
    Environment.current() ||
      raise ArgumentError,
            "there is no environment: give the option :machine, or start futures within " <>
              "Mote.Future.with_environment/3"
  end

  defp place(environment: %Environment{machine: native} = environment) do
    if Native.machine_owner(native) == :unknown do
      raise ArgumentError,
            "#{inspect(environment)} is not an environment of this node, where no future starts in it"
    end

    environment
  end

  defp place(machine: machine), do: place(machine, nil)

  defp place(opts) do
    unless Keyword.keyword?(opts) and Keyword.has_key?(opts, :machine) and
             Keyword.keys(opts) -- [:machine, :sponsor] == [] do
      raise ArgumentError,
            "expected the options of future/3 to be [machine: machine], with or without :sponsor, or " <>
              "[environment: environment], got: #{inspect(opts)}"
    end

    place(opts[:machine], opts[:sponsor])
  end

  defp place(machine, sponsor), do: %{machine: Machine.fetch!(machine), sponsor: sponsor, resource: nil}

  @doc """
  Returns the value of a future, after waiting for it at most `timeout` milliseconds (default `:infinity`).

  Raises `Mote.Error` when there is none: see above, and `:timeout`.
  """
  @spec touch(t, timeout) :: term
  def touch(future, timeout \\ :infinity) do
    Question.timeout!(timeout)

    Error.ok!(poll(future) || awaited(future, timeout))
  end

  defp awaited(future, timeout) do
    with :ok <- wait(future, timeout), do: poll(future) || {:error, Error.from(:machine_down, future: future)}
  end

  @doc """
  Returns the value of a future, or the error, without waiting; `nil` as long as it is not finished.
  """
  @spec poll(t) :: {:ok, term} | {:error, Error.t()} | nil
  def poll(%__MODULE__{} = future) do
    case with(:big <- here(future, &Native.future_value/1), do: Native.future_value_big(future.ref)) do
      {:ok, value} ->
        {:ok, value}

      :open ->
        nil

      {:failed, {:aborted, _module, _behaviour, reason}} ->
        {:error, Error.from({:aborted, reason}, future: future)}

      {:failed, reason} ->
        {:error, Error.from(reason, future: future)}
    end
  end

  def poll(other), do: no_future(other)

  @doc """
  Returns whether a future has a value, or is certain not to get one.
  """
  @spec finished?(t) :: boolean
  def finished?(%__MODULE__{} = future), do: here(future, &Native.future_finished/1)
  def finished?(other), do: no_future(other)

  # To others its reference means nothing.
  defp here(%{ref: ref} = future, function) do
    function.(ref)
  rescue
    ArgumentError ->
      raise ArgumentError,
            "#{inspect(future)} is not a future of this node: a future is of use on the node where it was started, as long " <>
              "as its term is kept whole (not copied through term_to_binary or another node)"
  end

  @spec no_future(term) :: no_return
  defp no_future(other), do: expected!("a future as Mote.Future.future/3 returns it", other)

  @doc """
  Waits until a future is finished, with a value or without, at most `timeout` milliseconds (default `:infinity`).

  The only error is `:timeout`.
  """
  @spec wait_for(t, timeout) :: :ok | {:error, Error.t()}
  def wait_for(future, timeout \\ :infinity) do
    Question.timeout!(timeout)
    if finished?(future), do: :ok, else: wait(future, timeout)
  end

  defp wait(%{machine: machine, ref: ref} = future, timeout) do
    case Question.put(machine, timeout, [future: future], &Native.future_wait(machine, ref, &1)) do
      {:error, %Error{reason: :timeout} = error} -> {:error, error}
      # If its machine is down, it will never be anything else.
      _told_or_down -> :ok
    end
  end

  @doc """
  Waits until all of the futures are finished, with one deadline. Otherwise like `wait_for/2`.
  """
  @spec wait_for_all([t], timeout) :: :ok | {:error, Error.t()}
  def wait_for_all(futures, timeout \\ :infinity) do
    Question.list!(futures, "futures")
    Question.timeout!(timeout)
    deadline = Question.deadline(timeout)

    Enum.reduce_while(futures, :ok, fn future, :ok ->
      case wait_for(future, Question.left(deadline)) do
        :ok ->
          {:cont, :ok}

        {:error, error} ->
          {:halt, {:error, Error.from(:timeout, timeout: timeout, future: error.context.future)}}
      end
    end)
  end

  @doc """
  Waits until any of the futures is finished, and returns it.

  Among those that are finished already it is the first in the list. A loop therefore removes each finished
  future from the list:

      defp collect([]), do: []

      defp collect(futures) do
        {:ok, future} = Mote.Future.wait_for_any(futures)
        [Mote.Future.touch(future) | collect(List.delete(futures, future))]
      end

  The only error is `:timeout`.
  """
  @spec wait_for_any([t, ...], timeout) :: {:ok, t} | {:error, Error.t()}
  def wait_for_any(futures, timeout \\ :infinity)

  def wait_for_any([%__MODULE__{} | _] = futures, timeout) do
    Question.list!(futures, "futures")
    Question.timeout!(timeout)

    case Enum.find(futures, &finished?/1) do
      nil -> wait_any(futures, timeout)
      future -> {:ok, future}
    end
  end

  def wait_for_any(other, _timeout), do: expected!("a list of at least one future", other)

  defp wait_any(futures, timeout) do
    opened =
      for %{machine: machine, ref: ref} = future <- futures do
        {future, Question.open(machine, [future: future], &Native.future_wait(machine, ref, &1))}
      end

    waits = for {future, {:ok, open}} <- opened, do: {open, future}

    case Enum.find(opened, &match?({_, {:error, _}}, &1)) do
      nil ->
        Questions.any(waits, timeout, &[future: &1]) ||
          {:error, Error.from(:timeout, timeout: timeout, future: hd(futures))}

      # Its machine is down: it is finished.
      {future, _} ->
        Question.ignore_all(waits, &[future: &1])
        {:ok, future}
    end
  end

  @doc """
  Kills a future that is not finished, and returns `true`. Returns `false` if it is finished. See *Killing* above.
  """
  @spec kill(t) :: boolean
  def kill(%__MODULE__{} = future), do: here(future, &Native.future_kill/1)
  def kill(other), do: no_future(other)

  @doc """
  Kills all of these futures, or all of the present environment, that are not finished. Returns how many were killed.
  """
  @spec kill_all([t]) :: non_neg_integer
  def kill_all(futures) do
    Question.list!(futures, "futures")
    Enum.count(futures, &kill/1)
  end

  @doc """
  See `kill_all/1`.
  """
  @spec kill_all() :: non_neg_integer
  def kill_all do
    case Environment.current() do
      nil -> raise ArgumentError, "there is no environment: give a list of futures"
      environment -> Environment.kill_all(environment)
    end
  end

  @doc """
  Calls `fun` in an environment of its own: futures that the block starts run in a new sponsor of the machine.

  However the block ends, and also when its process is killed, unfinished futures are killed, the sponsor is
  removed, and no other future starts in it. Finished ones keep their values. Returns the result of `fun`.
  Options:

    * `:max_threads` - how many futures may run at once: the threads of the sponsor (default `:cores`);
    * `:before_start` - functions of one argument, called by the process that starts a future, with `{what, argument}`
      of `future/3`. One that raises prevents the start;
    * `:after_finish` - functions of one argument, called with each future once it is finished, one at a time
      and each in a process of its own. They are done when the block has ended. One that fails is logged;
    * `:pin` and `:inbox` - as in `Mote.add_sponsor/3`. A start that finds the sponsor full raises.

  An environment belongs to the process. For others, such as tasks that it starts, there are `environment/0` and the
  option `:environment` of `future/3`. Within the block of another, the inner environment counts.
  """
  @spec with_environment(Machine.t(), keyword, (... -> result)) :: result when result: term
  def with_environment(machine, opts \\ [], fun) do
    unless is_function(fun, 0),
      do: expected!("the block of an environment as a function without arguments", fun)

    unless Keyword.keyword?(opts),
      do: expected!("the options of with_environment/3 to be a keyword list", opts)

    for {key, _} <- opts, key not in @environment do
      raise ArgumentError,
            "unknown option #{inspect(key)} of with_environment/3; there are #{Enum.map_join(@environment, ", ", &inspect/1)}"
    end

    {hooks, sponsor} = Keyword.split(opts, [:before_start, :after_finish])
    {threads, sponsor} = Keyword.pop(sponsor, :max_threads, :cores)
    sponsor = [threads: SponsorOptions.threads!(threads, ":max_threads of an environment")] ++ sponsor
    SponsorOptions.validate!(:future, sponsor)
    Environment.run(machine, sponsor, hooks, fun)
  end

  @doc """
  Returns the environment of the calling process, for the option `:environment` of `future/3` in another process;
  `nil` outside of any environment.
  """
  @spec environment() :: Environment.t() | nil
  def environment, do: Environment.current()

  defimpl Inspect do
    # Says nothing of the value, which may be large; and a finished future stays what it is, whatever the machine does.
    def inspect(%{about: {module, name, arity}, ref: ref}, _opts) do
      "#Mote.Future<#{Kernel.inspect(module)}.#{name}/#{arity}, #{state(ref)}>"
    end

    defp state(ref) do
      if Mote.Native.future_finished(ref), do: "finished", else: "open"
    rescue
      # No future of this node.
      ArgumentError -> "unknown"
    end
  end
end
