defmodule Mote.Turn do
  @moduledoc """
  What one turn of an actor did: the result of `Mote.Behaviour.turn/3`.

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

  `fuel` is what the turn spent: one for each call, tail call and loop step, and for four elements that a primitive walks
  over, beyond the first 64.
  """

  alias Mote.Total.{Term, Work}
  alias Mote.Turn.{Direct, Stage}

  defstruct outcome: :commit,
            sends: [],
            sendx: [],
            creates: [],
            timers: [],
            cancelled: [],
            become: nil,
            unstashed: [],
            effects: [],
            fuel: 0

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
          effects: [effect],
          fuel: non_neg_integer
        }

  @doc """
  Runs `fun`, the code of one turn, and collects what it staged. `fun` returns `:commit` or `:ignored`.

  Options as for `Mote.Behaviour.turn/3`.
  """
  @spec run((... -> :commit | :ignored), keyword) :: t
  def run(fun, opts \\ []) do
    case staged(fun, Map.new(options!(opts))) do
      {:commit, effects, become, unstashed, fuel} ->
        turn = %__MODULE__{effects: effects, become: become, unstashed: unstashed, fuel: fuel}
        collect(turn, effects)

      {other, _effects, _become, _unstashed, fuel} ->
        %__MODULE__{outcome: other, fuel: fuel}
    end
  end

  @doc false
  # The same as it was staged; the options are right.
  @spec staged((... -> :commit | :ignored), map) ::
          {outcome :: term, [effect], become :: term, unstashed :: [term], fuel :: non_neg_integer}
  def staged(fun, opts) do
    outer = Stage.open(opts)

    try do
      outcome = guarded(fn -> paid(fun.()) end, fn reason, _stacktrace -> {:abort, reason} end)
      {effects, become, fuel} = Stage.contents()
      {outcome, effects, become, Stage.unstashed(), fuel}
    after
      Stage.close(outer)
    end
  end

  @doc """
  Runs `fun`, the code of a `defpure` function called from plain Elixir, and returns its value.

  Raises what Elixir would raise where it fails, and `Mote.Abort` when it aborts. The stacktrace names the
  functions as they are written in the source.
  """
  @spec pure((... -> value)) :: value when value: term
  def pure(fun) do
    outer = Stage.open(%{})

    try do
      guarded(fun, &Direct.failed/2)
    after
      Stage.close(outer)
    end
  end

  # What each option may be; the first one that is something else is named.
  @options [
    self: "an address, a pid or an atom that stands for one",
    fuel: "an integer, 0 or more",
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

  # What leaves the machine is written out when the turn ends.
  defp paid(:commit) do
    with {[_ | _] = effects, _become, _fuel} <- Stage.contents(),
         do: Work.pay_for_messages(for {target, message} <- sent(effects), Term.leaves?(target), do: message)

    :commit
  end

  defp paid(other), do: other

  defp sent(effects) do
    Enum.flat_map(effects, fn
      {:send, target, message} -> [{target, message}]
      {:sendx, _sponsor, target, message} -> [{target, message}]
      _effect -> []
    end)
  end

  defp guarded(fun, aborted) do
    fun.()
  rescue
    # The only calls that generated code makes without knowing that they exist go to other modules. What is plain Elixir
    # is told as any Elixir.
    error in UndefinedFunctionError ->
      if Stage.captured(),
        do: reraise(error, __STACKTRACE__),
        else: aborted.(:undefined_function, __STACKTRACE__)
  catch
    :throw, {Stage, reason} -> aborted.(reason, __STACKTRACE__)
  end

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
