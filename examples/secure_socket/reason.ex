defmodule SecureSocket.Reason do
  @moduledoc """
  Why a connection ended, or why a request failed: `{:error, reason}`.

  | reason | what it says |
  |---|---|
  | `:closed` | the peer closed the connection between two packets |
  | `:closed_here` | `SecureSocket.close/1` was called |
  | `{:cut_off, part, got, wanted}` | the peer closed it in the middle: of `:length`, `:data` or `:hmac` only that many bytes came |
  | `{:too_long, size, longest}` | a packet is longer than is allowed |
  | `{:forged, n}` | the HMAC of packet n (from 0) does not fit: changed, repeated, left out, out of order, or made with another secret |
  | `{:silent, ms}` | more bytes were expected, and none came for that long |
  | `{:stuck, ms}` | the peer took nothing for that long |
  | `{:tcp, posix}` | what the system said |
  | `{:gone, what, reason}` | the `:owner`, the `:crypto` process or the `:machine` has ended |
  | `{:unknown, request}` | the request is not known; the connection is as it was |
  """

  @type t :: atom | tuple

  @doc """
  A reason as a sentence.

      iex> SecureSocket.Reason.describe({:cut_off, :data, 10, 40})
      "the peer closed the connection after 10 of 40 bytes of a packet's data"
  """
  @spec describe(t) :: String.t()
  def describe(:closed), do: "the peer closed the connection"
  def describe(:closed_here), do: "the connection was closed on this side"

  def describe({:cut_off, part, got, wanted}),
    do: "the peer closed the connection after #{got} of #{wanted} bytes of a packet's #{part}"

  def describe({:too_long, size, longest}),
    do: "a packet of #{size} bytes is too long: #{longest} are allowed"

  def describe({:forged, n}),
    do: "packet #{n} is not what the peer sent: its HMAC does not fit"

  def describe({:silent, ms}), do: "the peer sent nothing for #{ms} ms"
  def describe({:stuck, ms}), do: "the peer took nothing for #{ms} ms"
  def describe({:tcp, posix}), do: "TCP failed: #{:inet.format_error(posix)}"

  def describe({:gone, what, reason}),
    do: "the #{what} of the connection has ended: #{Exception.format_exit(reason)}"

  def describe({:unknown, request}), do: "a connection does not know the request #{inspect(request)}"
end
