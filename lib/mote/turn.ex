defmodule Mote.Turn do
  @moduledoc """
  The effects of one turn of an actor: the result of `Mote.Behaviour.turn/3`.

  `outcome` is `:commit`, `:ignored` (no clause matched) or `{:abort, reason}`. Only a committed turn has effects:

    * `sends`: `{target, message}`, in program order;
    * `sendx`: `{sponsor, target, message}`;
    * `creates`: `{address, behaviour}`, or `{address, behaviour, sponsor}` when pinned; the behaviour of an
      actor created as `sink()` is `:sink`;
    * `timers`: `{reference, milliseconds, target, message}`, with the pid in place of milliseconds for a `monitor`;
    * `cancelled`: the references of timers and monitors that it cancels, its own or others;
    * `become`: the new `Mote.Behaviour`, `:sink`, or `nil` when the actor stays as it is;
    * `unstashed`: the stashed messages that it takes up again, oldest first;
    * `effects`: everything except the become, in program order, each under its name: `{:send, target,
      message}`, `{:sendx, sponsor, target, message}`, `{:create, address, behaviour, sponsor | nil}`,
      `{:send_after, reference, milliseconds, target, message}`, `{:monitor, reference, pid, target, message}`,
      `{:cancel_timer, reference}`.

  A turn that raises is aborted, with the reason that a machine has for it: see `Mote.Raised`. One of a behaviour marked `beam:
  true` has the reason `{:crashed, :error, exception, stacktrace}`; the stacktrace is a list of lines.
  """

  alias Mote.Raised.Reason
  alias Mote.Turn.Stage

  defstruct outcome: :commit,
            sends: [],
            sendx: [],
            creates: [],
            timers: [],
            cancelled: [],
            become: nil,
            unstashed: [],
            effects: []

  @type effect ::
          {:send, term, term}
          | {:sendx, term, term, term}
          | {:create, term, Mote.Behaviour.t() | :sink, term}
          | {:send_after, reference | :undefined, term, term, term}
          | {:monitor, reference, pid, term, term}
          | {:cancel_timer, reference | Mote.Timer.t()}

  @type t :: %__MODULE__{
          outcome: :commit | :ignored | {:abort, term},
          sends: [{term, term}],
          sendx: [{term, term, term}],
          creates: [tuple],
          timers: [{reference, term, term, term}],
          cancelled: [reference | Mote.Timer.t()],
          become: nil | Mote.Behaviour.t() | :sink,
          unstashed: [term],
          effects: [effect]
        }

  @doc """
  Runs `fun`, the code of one turn, and collects what it staged. `fun` returns `:commit` or `:ignored`.

  Options as for `Mote.Behaviour.turn/3`. Where it raises, the turn is one of a behaviour marked `beam: true` if `beam?` says so.
  """
  @spec run((... -> :commit | :ignored), keyword, (... -> boolean)) :: t
  def run(fun, opts \\ [], beam? \\ fn -> false end) do
    caught(fun, Map.new(options!(opts)), beam?)
  end

  defp caught(fun, opts, beam?) do
    case staged(fun, opts) do
      {:commit, effects, become, {unstashed, _again?}} ->
        collect(%__MODULE__{effects: effects, become: become, unstashed: unstashed}, effects)

      {other, _effects, _become, _unstashed} ->
        %__MODULE__{outcome: other}
    end
  catch
    kind, reason when kind in [:error, :throw] ->
      %__MODULE__{outcome: {:abort, failed(beam?.(), kind, reason, __STACKTRACE__)}}
  end

  @doc false
  # The same as it was staged; the options are right. What raises is not caught.
  @spec staged((... -> :commit | :ignored), map) ::
          {outcome :: term, [effect], become :: term, {unstashed :: [term], again? :: boolean}}
  def staged(fun, opts) do
    outer = Stage.open(opts)

    try do
      outcome = fun.()
      {effects, become} = Stage.contents()
      {outcome, effects, become, Stage.unstashed()}
    catch
      :throw, {Stage, reason} -> {{:abort, reason}, [], nil, {[], false}}
    after
      Stage.close(outer)
    end
  end

  # As much of a stacktrace is told.
  @entries 16

  @doc false
  # The reason of a turn that was aborted because it raised, threw or exited: of a behaviour marked `beam: true`, or of another.
  @spec failed(boolean, :error | :exit | :throw, term, Exception.stacktrace()) :: term
  def failed(false, :error, reason, stack),
    do: :error |> Exception.normalize(reason, stack) |> Reason.of(stack)

  def failed(false, :throw, value, stack), do: Reason.of_thrown(value, stack)
  def failed(_beam?, kind, reason, stack), do: crashed(kind, reason, stack)

  @doc false
  @spec crashed(:error | :exit | :throw, term, Exception.stacktrace()) :: tuple
  def crashed(kind, reason, stack) do
    reason = if kind == :error, do: Exception.normalize(:error, reason, stack), else: reason
    {:crashed, kind, reason, told(stack)}
  end

  @doc false
  # Lines: of a report only so much is kept, and they are what people read.
  def told(stack),
    do: stack |> without_callers() |> Enum.take(@entries) |> Enum.map(&Exception.format_stacktrace_entry/1)

  # How a turn is called is the same for all of them.
  defp without_callers(stack), do: Enum.take_while(stack, &(elem(&1, 0) not in [__MODULE__, :proc_lib]))

  # What each option may be; the first one that is something else is named.
  @options [
    self: "an address, a pid or an atom that stands for one",
    first: "an integer, 0 or more",
    now: "a number of nanoseconds, 0 or more",
    addresses: "a function without arguments"
  ]

  defp options!(opts) do
    unless Keyword.keyword?(opts) do
      raise ArgumentError, "expected the options of a turn to be a keyword list, got: #{inspect(opts)}"
    end

    opts = Keyword.validate!(opts, Keyword.keys(@options))

    for {name, value} <- opts, not valid?(name, value) do
      raise ArgumentError,
            "expected #{inspect(name)} of a turn to be #{@options[name]}, got: #{inspect(value)}"
    end

    opts
  end

  defp valid?(:self, value), do: (is_atom(value) and value != nil) or Mote.Total.is_address(value)
  defp valid?(:addresses, value), do: is_function(value, 0)
  defp valid?(_, value), do: is_integer(value) and value >= 0

  defp collect(turn, effects) do
    %{
      turn
      | sends: for({:send, target, message} <- effects, do: {target, message}),
        sendx: for({:sendx, sponsor, target, message} <- effects, do: {sponsor, target, message}),
        creates:
          for({:create, address, behaviour, sponsor} <- effects, do: created(address, behaviour, sponsor)),
        # One without a reference has no delay, and never comes.
        timers:
          for(
            {effect, ref, due, target, message} when effect in [:send_after, :monitor] and is_reference(ref) <-
              effects,
            do: {ref, due, target, message}
          ),
        cancelled: for({:cancel_timer, ref} <- effects, do: ref)
    }
  end

  defp created(address, behaviour, nil), do: {address, behaviour}
  defp created(address, behaviour, sponsor), do: {address, behaviour, sponsor}
end
