defmodule Mote.Move.Parcel do
  # Moves many actors of one machine together: each step of lib/mote/move.ex is made for all of them before the next one, so there is
  # one way to the other node and back for all, and not for each.
  #
  # 1. To each actor the same is done as by a move of its own, in the same order: at no moment two actors run, and the move is over
  #    when all that had waited for the old address has arrived.
  # 2. An actor that has a reason of its own not to go with the others does not hold them up: it is what it was, and is left to
  #    a move of its own (`:alone`).
  # 3. All that the old addresses had still to send on has arrived once an actor of their machine has heard from each of them that it
  #    has, and has then asked by the same way (`Mote.Move.Ways.passing/1`).
  # 4. Whoever calls this is a process of Mote's that nobody ends: so no actor is left behind half way.
  @moduledoc false

  alias Mote.{Address, Behaviour, Error, Far, Machine, Move, Native}
  alias Mote.Machine.{Question, Questions, Request}
  alias Mote.Move.Ways

  # Milliseconds until an actor that does not stand still is left to a move of its own.
  @soon 1_000

  # How many are moved together: as many as take that many bytes on their way, as far as it is known.
  @first 128
  @most 512
  @bytes 512 * 1024

  # What keeps all actors of one behaviour from being made again over there, or all.
  @common [:stale_behaviour, :undefined_behaviour, :beam_only, :unknown_sponsor, :noconnection, :machine_down]

  @typedoc "The outcome for an actor: its new address, why it stays, or that it is to be moved by itself."
  @type result :: {:ok, Address.t()} | {:error, Error.t()} | :alone

  @doc "Returns how many actors are moved together at first."
  @spec first() :: pos_integer
  def first, do: @first

  @doc "Returns how many are moved together next, given how many bytes the last ones took."
  @spec next(pos_integer, non_neg_integer) :: pos_integer
  def next(count, bytes), do: (@bytes * count) |> div(max(bytes, 1)) |> min(@most) |> max(1)

  @doc """
  Moves actors of one machine, on this node or another one, to a machine: what has come of each, in their order, and how many bytes they
  have taken on their way. Those that are not on their way by the end of the timeout are left to themselves.
  """
  @spec move([Address.t()], Machine.t(), [sponsor: atom], timeout) :: {[result], non_neg_integer}
  def move([%Address{} = address | _] = addresses, machine, opts, timeout) do
    if Far.far?(address),
      do: Far.create_own!(node(address.machine), :move_all, [addresses, machine, opts, timeout]),
      else: move_all(addresses, machine, opts, timeout)
  end

  @doc "Does the same for actors of this node, also for another node."
  @spec move_all([Address.t()], Machine.t(), [sponsor: atom], timeout) :: {[result], non_neg_integer}
  def move_all([%{machine: native} = first | _] = addresses, machine, opts, timeout) do
    until = Question.deadline(timeout)

    with :ok <- Move.loaded(native, first) do
      hold = Move.new_hold()
      held = addresses |> Enum.map(&%{&1 | sponsor: nil}) |> hold_all(hold)
      {loads, bytes} = loads(held)

      moved =
        for load <- loads,
            {address, result} <- carry(load, machine, opts, hold, until),
            into: %{},
            do: {address.key, result}

      {for({address, was} <- held, do: Map.get_lazy(moved, address.key, fn -> stays(was, address) end)),
       bytes}
    else
      {:error, error} -> {List.duplicate({:error, error}, length(addresses)), 0}
    end
  end

  # Those of one behaviour that go in one message each, and how many bytes all of them take.
  defp loads(held) do
    going = for {address, %Behaviour{} = was} <- held, do: {:erlang.external_size(was.captures), address, was}

    loads =
      going
      |> Enum.group_by(fn {_, _, %{module: module, name: name}} -> {module, name} end)
      |> Enum.flat_map(fn {_kind, alike} -> Enum.chunk_while(alike, {0, []}, &load/2, &loaded/1) end)

    {loads, Enum.sum(for {bytes, _, _} <- going, do: bytes)}
  end

  defp load({bytes, address, was}, {sum, load}) when sum + bytes > @bytes and load != [],
    do: {:cont, Enum.reverse(load), {bytes, [{address, was}]}}

  defp load({bytes, address, was}, {sum, load}), do: {:cont, {sum + bytes, [{address, was} | load]}}

  defp loaded({_, load}), do: {:cont, Enum.reverse(load), nil}

  # -- holding -------------------------------------------------------------------------------------------------

  # What each was, or a word, or an error.
  defp hold_all(addresses, hold) do
    hold_one = fn %{machine: native, key: key}, tag -> Native.actor_hold(native, key, hold, tag) end
    answers = Questions.put_all(addresses, @soon, &about/1, hold_one)
    held = addresses |> Enum.zip(answers) |> Enum.map(&held/1)

    Move.let_go(for({address, :late} <- held, do: address), hold)
    Move.go_back(for({address, :onward} <- held, do: address), hold)
    held
  end

  # One that has moved before leads to where it is.
  defp held({address, {:ok, %Behaviour{module: Ways, name: :onward}}}), do: {address, :onward}
  defp held({address, {:ok, was_or_word}}), do: {address, was_or_word}
  defp held({address, {:error, %Error{reason: :timeout}}}), do: {address, :late}
  defp held({address, {:error, error}}), do: {address, error}

  defp stays(word, _address) when word in [:late, :onward], do: :alone
  defp stays(%Error{} = error, _address), do: {:error, error}
  defp stays(word, address), do: {:error, Move.stays(word, address)}

  defp about(address), do: [address: address]

  # -- carrying ------------------------------------------------------------------------------------------------

  defp carry(load, machine, opts, hold, until) do
    if Question.left(until) == 0,
      do: stay(load, hold, :alone),
      else: carry(load, machine, opts, hold)
  end

  defp carry(going, machine, opts, hold) do
    case create(going, machine, opts) do
      {:ok, created} ->
        {new, [witness]} = Enum.split(created, -1)
        pairs = Enum.zip_with(going, new, fn {address, _was}, new -> {address, new} end)
        pairs |> go_on(hold) |> passed(witness)

      {:error, %Error{reason: reason} = error} when reason in @common ->
        stay(going, hold, {:error, error})

      {:error, error} when length(going) == 1 ->
        stay(going, hold, {:error, error})

      # As many as there is memory for.
      {:error, _error} ->
        {some, others} = Enum.split(going, div(length(going), 2))
        carry(some, machine, opts, hold) ++ carry(others, machine, opts, hold)

      # A mistake of the caller's: a move of its own says which.
      :raised ->
        stay(going, hold, :alone)
    end
  end

  defp create(going, machine, opts) do
    {:ok, Move.create!(machine, for({_, was} <- going, do: was) ++ [Ways.witness()], opts)}
  rescue
    error in Error -> {:error, error}
    _ -> :raised
  end

  defp stay(going, hold, result) do
    addresses = for {address, _was} <- going, do: address
    Move.go_back(addresses, hold)
    for address <- addresses, do: {address, result}
  end

  # Those for whom there is no memory stay.
  defp go_on(pairs, hold) do
    gone =
      Enum.zip_with(pairs, Move.go_on_all(pairs, hold), fn {address, new}, went -> {address, new, went} end)

    Move.go_back(for({address, _new, :no_memory} <- gone, do: address), hold)
    gone
  end

  defp passed(gone, witness) do
    moved = for {address, new, :ok} <- gone, do: {address, new}
    others = for {address, new, went} <- gone, went != :ok, do: {address, failed(went, address, new)}

    results =
      if moved == [] or all_passed?(for({address, _} <- moved, do: address), witness),
        do: for({address, new} <- moved, do: {address, {:ok, new}}),
        else: for({address, new} <- moved, do: {address, Move.there(address, new)})

    results ++ others
  end

  # With the old machine the one that was held has ended, if not gone on before.
  defp failed({:error, %{reason: reason}}, address, new) when reason in [:machine_down, :stopped],
    do: Move.there(address, new)

  defp failed({:error, error}, _address, _new), do: {:error, error}
  defp failed(word, address, _new), do: {:error, Error.from(word, address: address)}

  # As many in one turn as the machine allows (`:fuel`): a turn that is aborted has asked none of them.
  defp all_passed?([%{machine: native} | _] = addresses, witness) do
    with {:ok, [passing]} <- Machine.Creator.create_many(native, [Ways.passing(witness)], nil),
         {:ok, _to} <- Request.put(passing, addresses, :infinity) do
      true
    else
      {:error, %{reason: :aborted}} when length(addresses) > 1 ->
        {some, others} = Enum.split(addresses, div(length(addresses), 2))
        all_passed?(some, witness) and all_passed?(others, witness)

      _ ->
        false
    end
  end
end
