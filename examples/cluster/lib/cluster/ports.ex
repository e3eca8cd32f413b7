defmodule Cluster.Ports do
  @moduledoc """
  Where nodes listen, in the place of `:erl_epmd`: `one_4711@127.0.0.1` listens on port 4711.

  So the example needs no daemon. Your own nodes need nothing of this where `epmd` runs, as it does wherever Erlang is installed as usual.
  """

  @doc false
  def start_link, do: :ignore

  @doc false
  def register_node(name, port, _family), do: register_node(name, port)

  # A number that tells this node from an earlier one of its name.
  @doc false
  def register_node(_name, _port), do: {:ok, :rand.uniform(0x7FFFFFFF) + 3}

  @doc false
  def listen_port_please(name, _host), do: {:ok, port(name)}

  @doc false
  def address_please(_name, _host, _family), do: {:ok, {127, 0, 0, 1}}

  # The last number is the version of the distribution.
  @doc false
  def port_please(name, _host), do: {:port, port(name), 5}

  @doc false
  def port_please(name, host, _timeout), do: port_please(name, host)

  @doc false
  def names(_host), do: {:error, :address}

  defp port(name), do: name |> to_string() |> String.split("_") |> List.last() |> String.to_integer()
end
