defmodule Mote.Graph do
  @moduledoc """
  Actors, and which of them hold the addresses of which, as `Mote.graph/2` found them at one moment.

    * `nodes` - maps of `id` (0 is where it began; the others by their distance), `address` and `behaviour` (module, name
      and number of captures, or `:sink`);
    * `edges` - maps of `from` and `to`, ids, and `capture`: which capture of the one reaches the other, from 0,
      directly or within a tuple, a list or a map;
    * `truncated` - whether there are more than were asked for.

  A graph is drawn by Mermaid (`to_mermaid/1`, in Livebook `Kino.Mermaid.new(Mote.Graph.to_mermaid(graph))`) or by
  Graphviz (`to_dot/1`). The actors in it live as long as the graph does.
  """

  defstruct nodes: [], edges: [], truncated: false

  @type t :: %__MODULE__{
          nodes: [
            %{id: non_neg_integer, address: Mote.Address.t(), behaviour: Mote.Inspection.behaviour()}
          ],
          edges: [%{from: non_neg_integer, capture: non_neg_integer, to: non_neg_integer}],
          truncated: boolean
        }

  @doc """
  The graph in the language of Mermaid.

      iex> graph = %Mote.Graph{
      ...>   nodes: [%{id: 0, behaviour: {Shop, :till, 2}}, %{id: 1, behaviour: :sink}],
      ...>   edges: [%{from: 0, capture: 1, to: 1}]
      ...> }
      iex> graph |> Mote.Graph.to_mermaid() |> String.split("\\n")
      ["graph LR", ~S(  n0["Shop.till/2"]), ~S(  n1["sink"]), "  n0 -->|1| n1"]
  """
  @spec to_mermaid(t) :: String.t()
  def to_mermaid(graph)

  def to_mermaid(%__MODULE__{} = graph) do
    nodes = for node <- graph.nodes, do: ~s(  n#{node.id}["#{mermaid(label(node))}"])
    edges = for edge <- graph.edges, do: "  n#{edge.from} -->|#{edge.capture}| n#{edge.to}"
    more = if graph.truncated, do: [~s(  more["..."])], else: []
    Enum.join(["graph LR"] ++ nodes ++ edges ++ more, "\n")
  end

  def to_mermaid(other), do: no_graph!(other)

  @doc """
  The graph in Graphviz's language DOT.

      iex> graph = %Mote.Graph{nodes: [%{id: 0, behaviour: {Shop, :till, 2}}], truncated: true}
      iex> graph |> Mote.Graph.to_dot() |> String.split("\\n")
      ["digraph {", ~S(  n0 [label="Shop.till/2"];), ~S(  more [label="..."];), "}"]
  """
  @spec to_dot(t) :: String.t()
  def to_dot(graph)

  def to_dot(%__MODULE__{} = graph) do
    nodes = for node <- graph.nodes, do: ~s(  n#{node.id} [label="#{dot(label(node))}"];)

    edges = for edge <- graph.edges, do: ~s(  n#{edge.from} -> n#{edge.to} [label="#{edge.capture}"];)

    more = if graph.truncated, do: [~s(  more [label="..."];)], else: []
    Enum.join(["digraph {"] ++ nodes ++ edges ++ more ++ ["}"], "\n")
  end

  def to_dot(other), do: no_graph!(other)

  @spec no_graph!(term) :: no_return
  defp no_graph!(other) do
    raise ArgumentError, "expected a graph returned by Mote.graph/2, got: #{inspect(other)}"
  end

  defp label(%{behaviour: :sink}), do: "sink"

  defp label(%{behaviour: {module, name, captures}}),
    do: "#{inspect(module)}.#{name}/#{captures}"

  # Atoms may hold anything.
  defp mermaid(text) do
    text
    |> String.replace("&", "&amp;")
    |> String.replace("\"", "&quot;")
    |> String.replace("<", "&lt;")
    |> String.replace("\n", " ")
  end

  defp dot(text) do
    text |> String.replace("\\", "\\\\") |> String.replace("\"", "\\\"") |> String.replace("\n", " ")
  end
end
