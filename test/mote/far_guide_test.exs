defmodule Mote.FarGuideTest do
  # The guide Nodes: what it says to type is typed, on nodes of these names, and what it shows is what comes.
  use ExUnit.Case, async: true

  import Mote.Eventually

  alias Mote.Mesh
  alias Mote.Mesh.Shell

  @moduletag skip: Mesh.missing()
  @moduletag timeout: 180_000

  @guide Path.expand("../../guides/nodes.md", __DIR__)

  setup do
    Process.flag(:trap_exit, true)
    nodes = for name <- ~w(one two three), into: %{}, do: {name, Mesh.start_one(name)}
    for {_, {peer, _}} <- nodes, do: :peer.call(peer, Shell, :start, [])
    %{nodes: nodes}
  end

  test "is as it says", %{nodes: nodes} do
    blocks = Regex.scan(~r/```(text|elixir)\n(.*?)```/s, File.read!(@guide), capture: :all_but_first)

    typed =
      for [kind, block] <- blocks,
          {who, code, shown} <- inputs(kind, block),
          do: type(kind, who, code, shown, nodes)

    assert length(typed) > 25
  end

  # `{nodes, code, what is shown}`
  defp inputs("elixir", block), do: [{~w(one two three), block, nil}]

  defp inputs("text", block) do
    block
    |> String.split("\n", trim: true)
    |> Enum.reduce([], fn line, inputs ->
      case {Regex.run(~r/^iex(?:\((\w+)@127.0.0.1\))?> (.*)/, line),
            Regex.run(~r/^\.\.\.\(.*?\)> ?(.*)/, line), inputs} do
        {[_, "", code], _, _} -> [{~w(one two), code, nil} | inputs]
        {[_, who, code], _, _} -> [{[who], code, nil} | inputs]
        {_, [_, more], [{who, code, nil} | rest]} -> [{who, code <> "\n" <> more, nil} | rest]
        {_, _, [{who, code, nil} | rest]} -> [{who, code, line} | rest]
        _ -> inputs
      end
    end)
    |> Enum.reverse()
  end

  defp type(kind, who, code, shown, nodes) do
    for name <- who do
      {peer, _} = nodes[name]
      code = named(code, nodes)
      first = :peer.call(peer, Shell, if(kind == "elixir", do: :compile, else: :type), [code], 90_000)

      # Nodes hear of each other in a moment.
      if shown != nil and not (shown =~ "…") do
        shown = named(shown, nodes)
        assert first == shown or eventually(fn -> :peer.call(peer, Shell, :type, [code], 90_000) == shown end)
      end
    end
  end

  defp named(text, nodes) do
    Enum.reduce(nodes, text, fn {name, {_, node}}, text ->
      String.replace(text, ~r/\b#{name}@127.0.0.1/, "#{node}")
    end)
  end
end
