defmodule Mote.Error do
  @moduledoc """
  An error of `Mote`: what could not be done, and why.

  `reason` is for programs, and `message` for people. `context` holds details, such as `address` and `request` of a
  question. `Mote.waiting/2` takes the error of a question that timed out. The reasons:

    * `:machine_down` - the machine is not running, or ended meanwhile; or it is stopping, and takes nothing new.
      `context.accepted` is 1 if it had accepted the message or question before it ended: a question may have had its
      effects;
    * `:unknown_address` - the address belongs to no running machine, or its key was not kept whole;
    * `:noconnection` - there is no connection to the node that the address belongs to, or it has ended meanwhile;
    * `:unknown_sponsor` - the machine has no sponsor of that name;
    * `:sponsor_exists` - the machine has a sponsor of that name already;
    * `:first_sponsor` - the first sponsor of a machine cannot be removed;
    * `:timeout` - no answer came in time, and a later one is discarded. Or the machine was not quiet, or did
      not stand still, in time; or the future was not finished, or a move not over;
    * `:aborted` - the turn that was given the question, or the call of a future, was aborted; `context.reason` says why, as
      the guide *The IR* lists it, and `context.behaviour` which behaviour was asked or which function was
      called, as `{module, name}`;
    * `:broken_promise` - nothing is left that could answer. If an actor was given the customer and has no clause
      for the message, or another actor than the one that was asked aborted its turn, `context.behaviour` says whose turn
      it was, as `{module, name}`, and `context.reason` why it was aborted; of several, the last one;
    * `:answer_too_large` - there was an answer, but written out, with shared parts repeated, it is larger
      than the memory of the machine;
    * `:overloaded` - the sponsor is full (`:inbox`): the message was not accepted;
    * `:beam_only` - the behaviour is marked `beam: true`, and the actor would not be pinned to a beam sponsor;
    * `:own_turn` - a turn of a beam sponsor has asked its own actor, which could answer only after that turn;
    * `:not_paused` - the machine must be paused for a step;
    * `:multi_threaded` - a sponsor with several threads, or a beam sponsor, has no order of turns to step through;
    * `:killed` - the future was killed before it had a value;
    * `:no_memory` - the machine has no memory left for this request;
    * `:undefined_behaviour` - the module or the behaviour in it does not exist (any more);
    * `:stale_behaviour` - the behaviour is of another version of its module than the one that is loaded;
    * `:load` - the machine refused the code of a module;
    * `:unknown_directory` - no directory of that name is started on this node;
    * `:unknown_key` - the directory has no actor for the key, and starts none;
    * `:key_taken` - the directory has an actor for the key already, `context.address`;
    * `:unknown_shards` - no shards of that name are started on this node: see `Mote.Shards`;
    * `:not_movable` - the actor cannot move, or not now; `context.why` says why: see `Mote.move/3`;
    * `:image` - an image was not saved, or a machine does not go on from it; the message says which file, where and why: see
      `Mote.save/3`;
    * `:identity_taken` - a machine with that `:identity` is running on this node already, `context.machine`;
    * `:journal` - a durable machine cannot go on from its folder, or a recording cannot be run again; the message
      says which file, where and why: see `Mote.Durable` and `Mote.Replay`;
    * `:dir_taken` - the folder of a durable or recorded machine belongs to another running machine:
      `context.system_pid` and `context.pid`; or it is a copy of another machine's folder, or not a copy: see
      `Mote.Durable.copy/2`;
    * `:copied` - a durable machine has at most one copy, and this one has it already: `context.copy`;
    * `:not_durable` - a durable or recorded machine does not do this, since its journal could not repeat it: see
      `Mote.Durable`. A replay takes in only what was recorded: see `Mote.Replay`;
    * `:start` - the system did not provide what a machine or a sponsor needs, or the application `:mote` is
      not running.
  """

  @type reason ::
          :machine_down
          | :unknown_address
          | :noconnection
          | :unknown_sponsor
          | :sponsor_exists
          | :first_sponsor
          | :timeout
          | :broken_promise
          | :answer_too_large
          | :overloaded
          | :beam_only
          | :own_turn
          | :not_paused
          | :multi_threaded
          | :aborted
          | :killed
          | :no_memory
          | :undefined_behaviour
          | :stale_behaviour
          | :load
          | :unknown_directory
          | :unknown_key
          | :key_taken
          | :unknown_shards
          | :not_movable
          | :image
          | :identity_taken
          | :journal
          | :dir_taken
          | :copied
          | :not_durable
          | :start

  @type t :: %__MODULE__{reason: reason, message: String.t(), context: map}

  alias Mote.{Machine, Native, Raised}
  alias Mote.Raised.{Call, Limit}

  defexception [:reason, :message, context: %{}]

  @doc false
  @spec new(reason, String.t(), map | keyword) :: t
  def new(reason, message, context \\ %{}) do
    # `:survey` says to `from/2` what was waited for; the message says it to others.
    %__MODULE__{reason: reason, message: message, context: context |> Map.new() |> Map.delete(:survey)}
  end

  @doc false
  # The value of a result; raises its error.
  @spec ok!({:ok, value} | {:error, t}) :: value when value: term
  def ok!({:ok, value}), do: value
  def ok!({:error, error}), do: raise(error)

  # The reason for a word of the NIF, where it is not the word itself. Of `:full_wait`, the sponsor wants senders to wait.
  @reasons %{
    stopped: :machine_down,
    stopping: :machine_down,
    unknown: :unknown_address,
    other_protocol: :noconnection,
    no_sponsor: :unknown_sponsor,
    full: :overloaded,
    full_wait: :overloaded,
    running: :not_paused,
    many_threads: :multi_threaded
  }

  @doc false
  # For what most functions meet: the words of the NIF.
  @spec from(atom | tuple, map | keyword) :: t
  def from(word, context)

  # One that was asked for something has accepted it.
  def from(:machine_down, context) do
    context = context |> Map.new() |> Map.put(:accepted, 1)
    new(:machine_down, "the machine ended before it answered", context)
  end

  def from({:aborted, module, behaviour, reason}, context) do
    of_behaviour(
      :aborted,
      "#{inspect(module)}.#{behaviour} aborted the turn that was given the question: #{Raised.format(reason)}" <>
        Limit.exceeded(reason, machine(context)),
      context,
      behaviour: {module, behaviour},
      reason: reason
    )
  end

  def from({:aborted, reason}, context) do
    {module, name, _arity} = context[:future].about

    message =
      "#{inspect(context[:future])} was aborted: #{Raised.format(reason)}#{Limit.exceeded(reason, nil)}"

    of_behaviour(:aborted, message, context, behaviour: {module, name}, reason: reason)
  end

  def from({:broken_promise, module, behaviour}, context) do
    who = if module, do: "#{inspect(module)}.#{behaviour}", else: "a #{behaviour}"

    why =
      if {module, behaviour} == {nil, :sink},
        do: "was given to an actor that has ended: it has become sink(), which ignores everything",
        else:
          "that no clause matches was given to #{who}. A clause for a question matches {customer, request}"

    of_behaviour(
      :broken_promise,
      unanswered(context) <> "The last message with it " <> why,
      context,
      behaviour: {module, behaviour}
    )
  end

  def from({:broken_promise, module, behaviour, reason}, context) do
    of_behaviour(
      :broken_promise,
      unanswered(context) <>
        "The last turn that was given it and was aborted is one of #{inspect(module)}.#{behaviour}: " <>
        "#{Raised.format(reason)}#{Limit.exceeded(reason, nil)}",
      context,
      behaviour: {module, behaviour},
      reason: reason
    )
  end

  def from(word, context) when is_atom(word) do
    reason = Map.get(@reasons, word, word)
    new(reason, text(if(reason == :overloaded, do: reason, else: word), context), context)
  end

  defp of_behaviour(reason, message, context, more),
    do: new(reason, message, context |> Map.new() |> Map.merge(Map.new(more)))

  defp text(:stopped, context) do
    cond do
      Enum.any?([:machine, :module, :behaviour], &context[&1]) ->
        "the machine is not running"

      is_struct(context[:address], Mote.Address) and Mote.Far.far?(context[:address]) ->
        "#{node(context[:address].machine)} has no such actor any more: that node or the machine has been started anew, or " <>
          "nothing there held the actor, since messages between processes are not counted (see Mote.lend/2)"

      true ->
        "the machine that this address belongs to has ended; one that was started in its place has new actors: " <>
          "create the actor again"
    end
  end

  defp text(:stopping, _context) do
    "the machine is stopping: it finishes what it has, and takes nothing new (`:shutdown` in Mote.start_link/1); or it is a durable " <>
      "one that starts"
  end

  defp text(:unknown, context) do
    case context[:address] do
      %{machine: machine} when is_reference(machine) and node(machine) != node() ->
        "the address is one of #{node(machine)}. There, its machine has ended, or nothing held the actor; or this is done on that " <>
          "node only (the guide Nodes lists what is done on all)"

      %{machine: machine} when is_reference(machine) ->
        if Mote.Far.earlier?(machine),
          do: "#{node()} has been started anew since, so its earlier actors are gone",
          else: nowhere()

      _ ->
        nowhere()
    end
  end

  defp text(:noconnection, context),
    do:
      "there is no connection to #{asked(context)}, or Mote is not running there: what was on its way is lost"

  defp text(:other_protocol, context) do
    "Mote on #{asked(context)} speaks another version of the protocol between nodes: both nodes need the same version of Mote"
  end

  defp text(:no_sponsor, context) do
    known = only(known(Map.new(context)))

    "the machine has no sponsor #{inspect(context[:sponsor])}#{known}: see Mote.sponsors/1 and Mote.add_sponsor/3"
  end

  defp text(:sponsor_exists, context) do
    "the machine has a sponsor #{inspect(context[:sponsor])} already: remove that first, or take another name"
  end

  defp text(:first_sponsor, context) do
    "#{inspect(context[:sponsor])} is the machine's first sponsor, which takes over what others leave: it ends with the machine only"
  end

  defp text(:overloaded, context) do
    waited = if context[:timeout], do: "; there was no room within #{context[:timeout]} ms", else: ""
    "as many events wait in the sponsor as its :inbox allows: the message was not accepted" <> waited
  end

  defp text(:running, _context), do: "only a paused machine runs turn by turn: see Mote.pause/1"

  defp text(:many_threads, context) do
    sponsor = if context[:sponsor], do: inspect(context[:sponsor]), else: "the first sponsor"

    "#{sponsor} has several threads or is a beam sponsor, whose turns have no order to step through: step through a sponsor with a " <>
      "single thread, or start the machine with schedule: {:seeded, seed}"
  end

  defp text(:no_memory, %{path: path}),
    do: "the machine has no memory left for the image #{path}: give it more with memory: in Mote.start_link/1"

  defp text(:no_memory, _context), do: "the machine has no memory left for this request"

  defp text(:not_durable, _context) do
    "a durable or recorded machine does not do this, since its journal could not tell it again: no timers, futures, shared constants or " <>
      "moves from outside, and no messages of other machines' actors (see Mote.Durable). A replay takes in nothing but what was " <>
      "recorded (see Mote.Replay)"
  end

  defp text(:timeout, context) do
    within = "within #{context[:timeout]} ms"

    cond do
      context[:address] || context[:node] ->
        "no answer #{within}; should one come later, it is thrown away#{keepers(context)}"

      context[:survey] && context[:path] ->
        "the image was not written #{within}; the file is replaced all the same as soon as it is"

      context[:survey] ->
        "the machine did not stand still #{within}: a turn is still running"

      context[:future] ->
        "#{inspect(context[:future])} was not finished #{within}"

      true ->
        "the machine was not quiet #{within}#{paused(context)}"
    end
  end

  defp text(:beam_only, context) do
    "#{inspect(context[:behaviour])} is marked beam: true, and runs in beam sponsors only: create it with sponsor: name, " <>
      "where Mote.add_sponsor(machine, name, beam: true) has added the sponsor"
  end

  defp text(:own_turn, _context),
    do: "a turn asked its own actor, which takes the next message only when that turn is over"

  defp text(:killed, _context), do: "the future was killed before it had a value"

  defp text(:broken_promise, context) do
    unanswered(context) <>
      "An actor that has no clause for a message ignores it, and an aborted turn sends nothing: Mote.trace/2 shows both. " <>
      "An answer for which the machine has no memory is thrown away: Mote.info/1 counts it in refused_no_memory"
  end

  defp text(:answer_too_large, _context) do
    "there is no answer: written out, with each part that it shares repeated, it is larger than the machine's memory (:memory in " <>
      "Mote.start_link/1). Answer with a part of it, or with what it is made of"
  end

  defp text(:unknown_directory, context) do
    "no directory has the name #{inspect(context[:directory])}: see Mote.Directory.start_link/1; one whose machine has " <>
      "ended is started again by its supervisor"
  end

  defp text(:unknown_shards, context) do
    "no shards have the name #{inspect(context[:shards])} on this node, or no member takes keys: see Mote.Shards.start_link/1"
  end

  defp text(:unknown_key, context),
    do: "#{inspect(context[:directory])} has no actor for #{inspect(context[:key])}, and starts none for it"

  defp text(:key_taken, context) do
    "#{inspect(context[:directory])} has an actor for #{inspect(context[:key])} already: see Mote.Directory.delete/3"
  end

  defp asked(context), do: context[:node] || node(context[:address].machine)

  defp nowhere do
    "the address belongs to no running machine: an address is valid while its machine runs, and as long as its " <>
      "term is kept whole (not copied through term_to_binary); one that was sent to another node between processes is " <>
      "valid as long as its own node holds the actor (see Mote.lend/2)"
  end

  # The sponsors of the machine, as far as the context says which machine.
  defp known(%{known: known}), do: known
  defp known(%{address: %{machine: native}}), do: Native.machine_sponsors(native)

  defp known(%{machine: machine}),
    do: with({:ok, native} <- Machine.fetch(machine), do: Native.machine_sponsors(native))

  defp known(_nothing), do: nil

  defp only([_ | _] = known), do: ", only #{Enum.map_join(known, ", ", &inspect/1)}"
  defp only(_unknown), do: ""

  defp unanswered(context) do
    asked =
      with {:ok, request} <- Map.fetch(Map.new(context), :request),
           do: " to #{Call.show(request)}",
           else: (:error -> "")

    "there will be no answer#{asked}: everybody who had the customer has dropped it without answering. "
  end

  defp keepers(context) do
    if context[:question],
      do: ". Mote.waiting(error) names the actors that keep the question's customer",
      else: ""
  end

  # The process of the machine that was asked, as far as the context says.
  defp machine(context) do
    with %{address: %{machine: native}} <- Map.new(context),
         pid when is_pid(pid) <- Native.machine_owner(native),
         do: pid,
         else: (_ -> nil)
  end

  defp paused(context) do
    with {:ok, native} <- Machine.fetch(context[:machine]),
         %{paused: true} <- Native.machine_info(native),
         do: ": it is paused, see Mote.resume/1",
         else: (_ -> "")
  end
end
