defmodule Mote.Machine.Request do
  # Requests of Mote's own to actors, such as those that shards make of their fronts and moves of the actors that they have left behind.
  #
  # 1. No bound refuses them that a user has set for messages: neither the `:inbox` of a sponsor nor `:waiting_for_node`. So whatever
  #    Mote does goes on where the user's own messages are refused.
  # 2. Memory is bounded for everybody. A request that finds none is put again until its time is over.
  @moduledoc false

  alias Mote.{Address, Ask, Error, Far, Native}
  alias Mote.Machine.{Long, Question, Questions}
  require Long

  # Milliseconds until the next try where there was no memory.
  @again 100

  @doc "Puts a request to an actor, on whichever node it is, and waits for the answer."
  @spec put(Address.t(), term, timeout) :: Ask.result()
  def put(%Address{} = address, request, timeout) do
    deadline = Question.deadline(timeout)

    with {:error, %Error{reason: :no_memory}} = error <- try_put(address, request, timeout) do
      Process.sleep(min(@again, Question.left(deadline)))

      case Question.left(deadline) do
        0 -> error
        left -> put(address, request, left)
      end
    end
  end

  @doc "Like `put/3`, but returns the answer itself, and raises `Mote.Error`."
  @spec put!(Address.t(), term, timeout) :: term
  def put!(address, request, timeout), do: address |> put(request, timeout) |> Error.ok!()

  @doc "Puts one request to each of several actors of this node at once, and waits for all the answers, in the order of the addresses."
  @spec put_all([Address.t()], term, timeout) :: [Ask.result()]
  def put_all(addresses, request, timeout) do
    deadline = Question.deadline(timeout)
    context = &[address: &1, request: request]
    ask = fn %{machine: machine, key: key}, tag -> near(machine, key, request, tag) end

    for {address, result} <- Enum.zip(addresses, Questions.put_all(addresses, timeout, context, ask)) do
      with {:error, %Error{reason: :no_memory}} <- result, do: put(address, request, Question.left(deadline))
    end
  end

  defp try_put(%Address{machine: machine, key: key} = address, request, timeout) do
    context = [address: address, request: request]

    if Far.far?(address) do
      with {:ok, open} <- Far.request(address, request, context), do: Question.finish(open, context, timeout)
    else
      Question.put(machine, timeout, context, &near(machine, key, request, &1))
    end
  end

  @doc "Puts a request to an actor of this node; returns the asker's side, or why it was not put."
  @spec near(reference, binary, term, Question.tag()) :: reference | atom
  def near(machine, key, request, tag),
    do: Long.call(request, Native.request(machine, key, request, tag))
end
