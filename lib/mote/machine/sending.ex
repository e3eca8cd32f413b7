defmodule Mote.Machine.Sending do
  # Sending from a process to an actor: accepted, refused, or waited for until the sponsor has room.
  @moduledoc false

  alias Mote.{Address, Durable, Error, Far, Native}
  alias Mote.Machine.{Comeback, Long, Question, SponsorOptions}
  require Long

  @timeout 5_000

  @doc "See `Mote.send/3`."
  @spec send(Address.t(), term, Mote.send_options()) :: :ok | {:error, Error.t()}
  def send(address, message, []), do: put(address, message, {nil, nil, @timeout})

  def send(address, message, opts) do
    {sponsor, on_full, timeout} = options = options!(opts)

    if opts[:on_down] == :wait,
      do: Comeback.act(address, timeout, &put_down(address, message, {sponsor, on_full, &1})),
      else: put(address, message, options)
  end

  defp put_down(address, message, options),
    do: returned([:machine_down, :unknown_address], fn -> put(address, message, options) end)

  defp put(%Address{machine: machine, key: key} = address, message, {named, on_full, timeout}) do
    sponsor = address.sponsor || named

    case Long.call(message, Native.send(machine, key, sponsor, message)) do
      :ok -> :ok
      durable when is_reference(durable) -> Durable.synced(durable, address: address, sponsor: sponsor)
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
  def send_named(address, message, opts),
    do: returned([:machine_down], fn -> send(address, message, opts) end)

  defp returned(reasons, send) do
    send.()
  rescue
    error in Error -> if error.reason in reasons, do: {:error, error}, else: reraise(error, __STACKTRACE__)
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
          durable when is_reference(durable) -> Durable.synced(durable, context)
          word -> refused(word, context)
        end

      {:error, %Error{reason: :timeout}} ->
        {:error, Error.from(:overloaded, [timeout: timeout] ++ context)}

      # It has waited, and nothing of it was accepted.
      {:error, %Error{reason: :machine_down}} ->
        refused(:stopped, context)

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
    known = [:sponsor, :on_full, :timeout] ++ if(function == "send/3", do: [:on_down], else: [])

    unless Keyword.keyword?(opts) and Keyword.keys(opts) -- known == [] do
      raise ArgumentError,
            "expected the options of #{function} to be #{Enum.map_join(known, ", ", &inspect/1)}, got: #{inspect(opts)}"
    end

    {on_down, opts} = Keyword.pop(opts, :on_down, :error)
    Comeback.option!(on_down, function)
    {on_full, opts} = Keyword.pop(opts, :on_full)
    {timeout, opts} = Keyword.pop(opts, :timeout, @timeout)
    Question.timeout!(timeout)

    unless on_full in [nil, :error, :wait] do
      raise ArgumentError, "expected :on_full of #{function} to be :error or :wait, got: #{inspect(on_full)}"
    end

    {SponsorOptions.option!(opts, function), on_full, timeout}
  end
end
