defmodule Mote.Mesh do
  @moduledoc """
  Any number of nodes that are connected to each other, on the loopback and without epmd: the name of a node says where it listens.
  The node of the tests itself has no part in it.
  """

  alias Mote.TwoNodes

  # A node that has just started shares its cores with all other tests.
  @patience 60_000

  defmodule Ports do
    @moduledoc "In the place of `:erl_epmd`: `name_4711@127.0.0.1` listens on port 4711."

    def start_link, do: :ignore
    def register_node(name, port, _family), do: register_node(name, port)
    # Another one than before a restart.
    def register_node(_name, _port), do: {:ok, :rand.uniform(0x7FFFFFFF) + 3}
    def names(_host), do: {:error, :address}
    def address_please(_name, _host, _family), do: {:ok, {127, 0, 0, 1}}
    def port_please(name, host, _timeout), do: port_please(name, host)
    def port_please(name, _host), do: {:port, port(name), 5}
    def listen_port_please(name, _host), do: {:ok, port(name)}

    defp port(name), do: name |> to_string() |> String.split("_") |> List.last() |> String.to_integer()
  end

  defmodule Shell do
    @moduledoc "A session: it keeps what is bound, and counts lines, which are part of the version of a module."
    def start do
      # It has no name: what is typed may give it one.
      :persistent_term.put(__MODULE__, spawn(fn -> loop([], 1) end))
    end

    defp loop(bindings, line) do
      receive do
        {:type, code, from} ->
          {value, bindings} = Code.eval_string(code, bindings, line: line)
          send(from, {:shown, inspect(value, limit: :infinity)})
          loop(bindings, line + length(String.split(code, "\n")))
      end
    end

    @doc "What is in a file of the project."
    def compile(code), do: Code.compile_string(code)

    def type(code) do
      send(:persistent_term.get(__MODULE__), {:type, code, self()})

      receive do
        {:shown, shown} -> shown
      after
        60_000 -> exit({:nothing_shown, code})
      end
    end
  end

  @doc "Starts nodes of these names, linked to the calling process, and connects them: `{peer, node}` of each."
  @spec start([String.t()]) :: {:ok, [{pid, node}]} | {:error, term}
  def start(names) do
    nodes = for name <- names, do: start_one(name)
    connect(nodes)
    {:ok, nodes}
  catch
    :exit, reason -> {:error, reason}
    {:peer, reason} -> {:error, reason}
  end

  @doc "Starts one more, which is connected to nobody."
  def start_one(name), do: start_named("#{name}_#{TwoNodes.free_port()}@127.0.0.1")

  @doc "The same by its whole name: one that has ended comes again."
  def start_named(name) do
    args = ["-epmd_module", "#{Ports}", "-name", "#{name}"]

    # Whoever has lost one node would otherwise let go of others, too.
    case TwoNodes.start_peer(args ++ ["-kernel", "prevent_overlapping_partitions", "false"]) do
      {:ok, peer, node} ->
        {:ok, _} = :peer.call(peer, Application, :ensure_all_started, [:mote], @patience)
        {peer, node}

      {:error, reason} ->
        throw({:peer, reason})
    end
  end

  @doc "Connects each to each."
  def connect(nodes) do
    for {peer, own} <- nodes, {_, node} <- nodes, own < node do
      true = :peer.call(peer, Node, :connect, [node], @patience)
    end

    :ok
  end

  @doc "A node that does not exist: a connection to it is refused at once."
  def nowhere, do: :"nowhere_1@127.0.0.1"

  @doc "Why such nodes cannot be started here; `nil` if they can. This is tried once."
  @spec missing() :: String.t() | nil
  def missing, do: TwoNodes.once(__MODULE__, &try_start/0)

  defp try_start do
    case start(["a", "b"]) do
      {:ok, nodes} ->
        for {peer, _} <- nodes, do: :peer.stop(peer)
        nil

      {:error, reason} ->
        "no nodes can be connected here: #{inspect(reason)}"
    end
  end
end
