defmodule Mote.Machine.Sending do
  # Sending from a process to an actor: accepted, refused, or waited for until the sponsor has room.
  @moduledoc false

  alias Mote.{Address, Durable, Error, Far, Native}
  alias Mote.Machine.{Long, Question, SponsorOptions}
  require Long

  @timeout 5_000

  @doc "See `Mote.send/3`."
  @spec send(Address.t(), term, Mote.send_options()) :: :ok | {:error, Error.t()}
  def send(%Address{machine: machine, key: key} = address, message, opts) do
    {named, on_full, timeout} = options!(opts)
    sponsor = address.sponsor || named

    case Long.call(message, Native.send(machine, key, sponsor, message)) do
      :ok -> :ok
      :durable -> Durable.synced(machine, address: address, sponsor: sponsor)
      full when full in [:full, :full_wait] -> full({address, sponsor, message}, on_full || full, timeout)
      :unknown -> far(address, sponsor, message, on_full, timeout)
      word -> refused(word, address: address, sponsor: sponsor)
    end
  end

  @doc """
  The same to what a name leads to. That its machine has ended is an error to return there, since a correct program meets it: while
  its supervisor starts another one.
  """
  @spec send_named(Address.t(), term, Mote.send_options()) :: :ok | {:error, Error.t()}
  def send_named(address, message, opts) do
    send(address, message, opts)
  rescue
    error in Error ->
      if error.reason == :machine_down, do: {:error, error}, else: reraise(error, __STACKTRACE__)
  end

  defp far(address, sponsor, message, on_full, timeout) do
    if Far.far?(address),
      do: Far.send(address, sponsor, message, on_full, timeout),
      else: refused(:unknown, address: address, sponsor: sponsor)
  end

  defp refused(:no_memory, context), do: {:error, Error.from(:no_memory, context)}
  defp refused(word, context), do: raise(Error.from(word, context))

  defp full(letter, wait, timeout) when wait in [:wait, :full_wait], do: wait(letter, timeout)

  defp full({address, sponsor, _}, _, _),
    do: {:error, Error.from(:overloaded, address: address, sponsor: sponsor)}

  # In line, and then with a place of its own: so nobody overtakes it, and it needs to wait only once.
  defp wait({%{machine: machine, key: key} = address, sponsor, message}, timeout) do
    context = [address: address, sponsor: sponsor]

    case Question.line(machine, timeout, context, &Native.wait_for_room(machine, key, sponsor, &1)) do
      {:ok, permit} ->
        case Native.send_permitted(permit, machine, key, sponsor, message, Long.kept(message)) do
          :ok -> :ok
          :durable -> Durable.synced(machine, context)
          word -> refused(word, context)
        end

      {:error, %Error{reason: :timeout}} ->
        {:error, Error.from(:overloaded, [timeout: timeout] ++ context)}

      # A turn of the very sponsor that is full.
      {:error, %Error{reason: :overloaded} = error} ->
        {:error, error}

      {:error, error} ->
        raise error
    end
  end

  @doc "Sponsor, policy and timeout; raises `ArgumentError`."
  @spec options!(term, String.t()) :: {atom, :error | :wait | nil, timeout}
  def options!(opts, function \\ "send/3")
  def options!([], _function), do: {nil, nil, @timeout}

  def options!(opts, function) do
    unless Keyword.keyword?(opts) and Keyword.keys(opts) -- [:sponsor, :on_full, :timeout] == [] do
      raise ArgumentError,
            "expected the options of #{function} to be :sponsor, :on_full and :timeout, got: #{inspect(opts)}"
    end

    {on_full, opts} = Keyword.pop(opts, :on_full)
    {timeout, opts} = Keyword.pop(opts, :timeout, @timeout)
    Question.timeout!(timeout)

    unless on_full in [nil, :error, :wait] do
      raise ArgumentError, "expected :on_full of #{function} to be :error or :wait, got: #{inspect(on_full)}"
    end

    {SponsorOptions.option!(opts, function), on_full, timeout}
  end
end
