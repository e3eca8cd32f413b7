defmodule Mote.Error do
  @moduledoc """
  What `Mote` could not do, and why.

  `reason` is for programs, `message` for people, `context` holds what it was about, such as `address` and `request` of a
  question. `Mote.waiting/2` takes the error of a question that timed out. The reasons:

    * `:machine_down` - the machine is not running, or ended meanwhile; or it is stopping, and takes nothing new. `context.accepted` is 1
      of what it had accepted before it ended: a question may have had its effects;
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
    * `:journal` - a durable machine does not go on from what is in its folder, or a recording is not run again; the message says which file,
      where and why: see `Mote.Durable` and `Mote.Replay`;
    * `:dir_taken` - the folder of a durable or recorded machine is that of another one which runs: `context.system_pid` and `context.pid`; or
      it is a copy of another one's, or no copy: see `Mote.Durable.copy/2`;
    * `:copied` - a durable machine has one copy, and this one has it: `context.copy`;
    * `:not_durable` - a durable or recorded machine does not do this, since its journal could not tell it again: see `Mote.Durable`. A
      replay takes in nothing but what was recorded: see `Mote.Replay`;
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
  # For what most functions meet: the words of the NIF.
  @spec from(atom | tuple, map | keyword) :: t
  def from(word, context)

  def from(:stopped, context) do
    what =
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

    new(:machine_down, what, context)
  end

  def from(:stopping, context) do
    new(
      :machine_down,
      "the machine is stopping: it finishes what it has, and takes nothing new (`:shutdown` in Mote.start_link/1); or it is a durable " <>
        "one that starts",
      context
    )
  end

  def from(:unknown, context) do
    what =
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

    new(:unknown_address, what, context)
  end

  def from(:noconnection, context) do
    node = context[:node] || node(context[:address].machine)

    new(
      :noconnection,
      "there is no connection to #{node}, or Mote is not running there: what was on its way is lost",
      context
    )
  end

  def from(:other_protocol, context) do
    node = context[:node] || node(context[:address].machine)

    new(
      :noconnection,
      "Mote on #{node} speaks another version of the protocol between nodes: both nodes need the same version of Mote",
      context
    )
  end

  def from(:no_sponsor, context) do
    sponsor = inspect(context[:sponsor])

    new(
      :unknown_sponsor,
      "the machine has no sponsor #{sponsor}#{only(known(Map.new(context)))}: see Mote.sponsors/1 and Mote.add_sponsor/3",
      context
    )
  end

  def from(:sponsor_exists, context) do
    sponsor = inspect(context[:sponsor])

    new(
      :sponsor_exists,
      "the machine has a sponsor #{sponsor} already: remove that first, or take another name",
      context
    )
  end

  def from(:first_sponsor, context) do
    sponsor = inspect(context[:sponsor])

    new(
      :first_sponsor,
      "#{sponsor} is the machine's first sponsor, which takes over what others leave: it ends with the machine only",
      context
    )
  end

  # As NIFs say it; with the word on whether the sponsor wants senders to wait.
  def from(full, context) when full in [:full, :full_wait], do: from(:overloaded, context)

  def from(:overloaded, context) do
    waited = if context[:timeout], do: "; there was no room within #{context[:timeout]} ms", else: ""

    new(
      :overloaded,
      "as many events wait in the sponsor as its :inbox allows: the message was not accepted" <> waited,
      context
    )
  end

  def from(:running, context) do
    new(:not_paused, "only a paused machine runs turn by turn: see Mote.pause/1", context)
  end

  def from(:many_threads, context) do
    sponsor = if context[:sponsor], do: inspect(context[:sponsor]), else: "the first sponsor"

    new(
      :multi_threaded,
      "#{sponsor} has several threads or is a beam sponsor, whose turns have no order to step through: step through a sponsor with a " <>
        "single thread, or start the machine with schedule: {:seeded, seed}",
      context
    )
  end

  def from(:no_memory, context) do
    new(:no_memory, "the machine has no memory left for this request", context)
  end

  def from(:not_durable, context) do
    new(
      :not_durable,
      "a durable or recorded machine does not do this, since its journal could not tell it again: no timers, futures, shared constants or " <>
        "moves from outside, and no messages of other machines' actors (see Mote.Durable). A replay takes in nothing but what was " <>
        "recorded (see Mote.Replay)",
      context
    )
  end

  def from(:timeout, context) do
    cond do
      context[:address] || context[:node] -> no_answer(context)
      context[:survey] -> not_still(context)
      context[:future] -> not_finished(context)
      true -> not_quiet(context)
    end
  end

  def from({:aborted, module, behaviour, reason}, context) do
    message =
      "#{inspect(module)}.#{behaviour} aborted the turn that was given the question: #{Raised.format(reason)}" <>
        Limit.exceeded(reason, machine(context))

    new(
      :aborted,
      message,
      context |> Map.new() |> Map.merge(%{behaviour: {module, behaviour}, reason: reason})
    )
  end

  def from({:aborted, reason}, context) do
    message =
      "#{inspect(context[:future])} was aborted: #{Raised.format(reason)}#{Limit.exceeded(reason, nil)}"

    {module, name, _arity} = context[:future].about
    new(:aborted, message, context |> Map.new() |> Map.merge(%{behaviour: {module, name}, reason: reason}))
  end

  def from(:beam_only, context) do
    new(
      :beam_only,
      "#{inspect(context[:behaviour])} is marked beam: true, and runs in beam sponsors only: create it with sponsor: name, " <>
        "where Mote.add_sponsor(machine, name, beam: true) has added the sponsor",
      context
    )
  end

  def from(:own_turn, context) do
    new(
      :own_turn,
      "a turn asked its own actor, which takes the next message only when that turn is over",
      context
    )
  end

  def from(:killed, context) do
    new(:killed, "the future was killed before it had a value", context)
  end

  def from(:broken_promise, context) do
    new(
      :broken_promise,
      unanswered(context) <>
        "An actor that has no clause for a message ignores it, and an aborted turn sends nothing: Mote.trace/2 shows both. " <>
        "An answer for which the machine has no memory is thrown away: Mote.info/1 counts it in refused_no_memory",
      context
    )
  end

  def from({:broken_promise, module, behaviour}, context) do
    who = if module, do: "#{inspect(module)}.#{behaviour}", else: "a #{behaviour}"

    why =
      if {module, behaviour} == {nil, :sink},
        do: "was given to an actor that has ended: it has become sink(), which ignores everything",
        else:
          "that no clause matches was given to #{who}. A clause for a question matches {customer, request}"

    context = context |> Map.new() |> Map.put(:behaviour, {module, behaviour})
    new(:broken_promise, unanswered(context) <> "The last message with it " <> why, context)
  end

  def from({:broken_promise, module, behaviour, reason}, context) do
    new(
      :broken_promise,
      unanswered(context) <>
        "The last turn that was given it and was aborted is one of #{inspect(module)}.#{behaviour}: " <>
        "#{Raised.format(reason)}#{Limit.exceeded(reason, nil)}",
      context |> Map.new() |> Map.merge(%{behaviour: {module, behaviour}, reason: reason})
    )
  end

  def from(:answer_too_large, context) do
    new(
      :answer_too_large,
      "there is no answer: written out, with each part that it shares repeated, it is larger than the machine's memory (:memory in " <>
        "Mote.start_link/1). Answer with a part of it, or with what it is made of",
      context
    )
  end

  def from(:machine_down, context) do
    # One that was asked for something has accepted it.
    context = context |> Map.new() |> Map.put(:accepted, 1)
    new(:machine_down, "the machine ended before it answered", context)
  end

  def from(:unknown_directory, context) do
    new(
      :unknown_directory,
      "no directory has the name #{inspect(context[:directory])}: see Mote.Directory.start_link/1; one whose machine has " <>
        "ended is started again by its supervisor",
      context
    )
  end

  def from(:unknown_shards, context) do
    new(
      :unknown_shards,
      "no shards have the name #{inspect(context[:shards])} on this node, or no member takes keys: see Mote.Shards.start_link/1",
      context
    )
  end

  def from(:unknown_key, context) do
    new(
      :unknown_key,
      "#{inspect(context[:directory])} has no actor for #{inspect(context[:key])}, and starts none for it",
      context
    )
  end

  def from(:key_taken, context) do
    new(
      :key_taken,
      "#{inspect(context[:directory])} has an actor for #{inspect(context[:key])} already: see Mote.Directory.delete/3",
      context
    )
  end

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

  defp no_answer(context) do
    new(
      :timeout,
      "no answer within #{context[:timeout]} ms; should one come later, it is thrown away" <>
        keepers(context),
      context
    )
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

  defp not_still(context) do
    new(
      :timeout,
      "the machine did not stand still within #{context[:timeout]} ms: a turn is still running",
      context
    )
  end

  defp not_finished(context) do
    new(:timeout, "#{inspect(context[:future])} was not finished within #{context[:timeout]} ms", context)
  end

  defp not_quiet(context) do
    new(:timeout, "the machine was not quiet within #{context[:timeout]} ms#{paused(context)}", context)
  end

  defp paused(context) do
    with {:ok, native} <- Machine.fetch(context[:machine]),
         %{paused: true} <- Native.machine_info(native),
         do: ": it is paused, see Mote.resume/1",
         else: (_ -> "")
  end
end
