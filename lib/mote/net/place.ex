defmodule Mote.Net.Place do
  # What `Mote.Net` is told of addresses, ports and paths, and how a machine takes it.
  @moduledoc false

  import Mote.Internal.Expected, only: [expected!: 2]

  @doc "An address and a port, or a path, as a machine takes it. Raises `ArgumentError` for anything else."
  @spec place!(term) :: {String.t(), :inet.port_number()} | String.t()
  def place!({ip, port} = place) do
    with true <- is_integer(port) and port in 0..65_535,
         text when is_list(text) <- :inet.ntoa(ip) do
      {to_string(text), port}
    else
      _ -> bad(place)
    end
  end

  def place!(path) when is_binary(path) and path != "" do
    if String.contains?(path, "\0"), do: bad(path), else: path
  end

  def place!(other), do: bad(other)

  @doc "Raises for what is no place."
  @spec bad(term) :: no_return
  def bad(other) do
    expected!(
      "an IP address as a tuple and a port from 0 to 65535, or the path of a Unix-domain socket",
      other
    )
  end

  @doc "A place that a dialer may connect to: a path, or an address of 16 bytes with the number of its bits that count, and the first and last port."
  @spec allowed!(term) :: String.t() | {binary, 0..128, :inet.port_number(), :inet.port_number()}
  def allowed!(path) when is_binary(path), do: place!(path)

  def allowed!({ip, ports} = place) do
    with {bytes, bits} <- network(ip), {first, last} <- ports(ports) do
      {bytes, bits, first, last}
    else
      _ -> bad(place)
    end
  end

  def allowed!(other), do: bad(other)

  defp network(:any), do: {<<0::128>>, 0}

  defp network({ip, bits}) when is_tuple(ip) and is_integer(bits) do
    size = if tuple_size(ip) == 4, do: 32, else: 128
    with {bytes, 128} <- network(ip), true <- bits in 0..size, do: {bytes, 128 - size + bits}
  end

  defp network(ip) do
    case is_tuple(ip) and :inet.ntoa(ip) do
      text when is_list(text) ->
        ip = if tuple_size(ip) == 4, do: :inet.ipv4_mapped_ipv6_address(ip), else: ip
        {for(part <- Tuple.to_list(ip), into: "", do: <<part::16>>), 128}

      _ ->
        nil
    end
  end

  defp ports(:any), do: {0, 65_535}
  defp ports(first..last//1) when first >= 0 and last <= 65_535, do: {first, last}
  defp ports(port) when port in 0..65_535, do: {port, port}
  defp ports(_other), do: nil
end
