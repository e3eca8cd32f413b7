defmodule SecureSocket.Gate do
  # A gatekeeper: lets one request at a time through to a service, and keeps the others in order.
  #
  # Each request gets a tag, an actor of its own, as its customer: what the tag passes on is the answer, and nobody else
  # can say so. The service has to answer every request.
  @moduledoc false
  use Mote.Behaviour

  defactor gate(service) do
    {customer, request} ->
      tag = create tag(self())
      send service, {tag, request}
      become busy(service, tag, customer, [], [])
  end

  # Waiting requests: those to take from, then those that came since, the newest first.
  defactor busy(service, tag, customer, first, last) do
    {from, answer} when from == tag ->
      send customer, answer

      case next(first, last) do
        {{customer, request}, first, last} ->
          tag = create tag(self())
          send service, {tag, request}
          become busy(service, tag, customer, first, last)

        :none ->
          become gate(service)
      end

    {_customer, _request} = waiting ->
      become busy(service, tag, customer, first, [waiting | last])
  end

  defactor tag(gate) do
    answer -> send gate, {self(), answer}
  end

  defpure next([waiting | first], last), do: {waiting, first, last}
  defpure next([], []), do: :none
  defpure next([], last), do: next(Enum.reverse(last), [])
end
