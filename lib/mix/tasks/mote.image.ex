defmodule Mix.Tasks.Mote.Image do
  @shortdoc "Shows what is in an image of a machine"
  @moduledoc """
  Shows what is in an image that `Mote.save/3` has written:

      $ mix mote.image /var/lib/market/carts.image
      $ mix mote.image /var/lib/market/carts.image --diff /var/lib/market/carts.yesterday

  It prints how many actors, events and timers there are, how many actors have which behaviour, and of which version, and what was
  not saved. `Mote.Image` says what each of that is.

  A behaviour is marked where the code that this project has is of another version. With `--diff OLD` it also prints what has
  changed since an older image: how many more or fewer there are of everything.
  """

  use Mix.Task

  alias Mote.Machine.Loader

  @impl Mix.Task
  def run(arguments) do
    case OptionParser.parse(arguments, strict: [diff: :string]) do
      {opts, [path], []} ->
        show(path, opts[:diff])

      _ ->
        Mix.raise(
          "Write mix mote.image and the name of one file, and maybe --diff and the name of an older one"
        )
    end
  end

  defp show(path, older) do
    Mix.Task.run("compile")
    Mix.Task.run("loadpaths")
    image = read!(path)
    Mix.shell().info(text(image))
    if older, do: Mix.shell().info(older |> read!() |> changes(image))
  end

  defp read!(path) do
    case Mote.Image.read(path) do
      {:ok, image} -> image
      {:error, error} -> Mix.raise(Exception.message(error))
    end
  end

  defp changes(older, image) do
    [old, new] =
      for image <- [older, image], do: image |> figures() |> Enum.group_by(&elem(&1, 1), &elem(&1, 0))

    changed =
      for what <- Enum.sort(Map.keys(Map.merge(old, new))),
          [before, now] = for(all <- [old, new], do: all |> Map.get(what, []) |> Enum.sum()),
          before != now,
          do: {now - before, "#{what}: #{number(before)}, now #{number(now)}"}

    """

    Changed since #{older.path}:
    #{lines(changed)}\
    """
  end

  defp figures(image) do
    [{image.bytes, "bytes"}, {image.kept, "actors that have addresses outside"}] ++
      counts(image) ++
      for(
        %{behaviour: of, version: version, actors: actors} <- image.behaviours,
        do: {actors, named(of, version)}
      ) ++
      Enum.map(image.lost, &lost/1)
  end

  defp counts(image) do
    [
      {image.actors, "actors"},
      {image.cells, "cells of what they hold"},
      {image.events, "events that wait"},
      {image.timers, "timers"}
    ]
  end

  defp text(image) do
    """
    #{image.path}: #{number(image.bytes)} bytes, of a machine that had run for #{div(image.moment, 1000)} s

    #{lines(counts(image))}

    #{identity(image)}

    Sponsors that it needs: #{if image.sponsors == [], do: "none", else: Enum.map_join(image.sponsors, ", ", &inspect/1)}

    Behaviours:
    #{lines(Enum.map(image.behaviours, &behaviour/1))}

    Not saved:
    #{lines(Enum.map(image.lost, &lost/1))}\
    """
  end

  defp identity(%{identity: nil}), do: "No identity: old addresses are dead"

  defp identity(%{identity: identity, kept: kept}),
    do: "Identity: #{inspect(identity)}, with #{number(kept)} actors that have addresses outside"

  defp behaviour(%{behaviour: {module, _, _} = of, version: version, actors: actors}) do
    present = Loader.about(module, [:hash])
    mark = if present == {:ok, [version]}, do: "", else: ", not the version of this project"
    {actors, named(of, version) <> mark}
  end

  defp named({module, name, captures}, version),
    do: "#{inspect(module)}.#{name}/#{captures}, version #{hash(version)}"

  defp lost(%{kind: kind, behaviour: behaviour, held: held, count: count}) do
    holder =
      case behaviour do
        nil -> "among the names"
        {module, name, captures} -> "#{held} of #{inspect(module)}.#{name}/#{captures}"
        other -> "#{held} of #{other}"
      end

    {count, "#{kind}: #{holder}"}
  end

  defp lines([]), do: "  none"

  defp lines(rows) do
    rows = for {count, text} <- rows, do: {number(count), text}
    width = rows |> Enum.map(&String.length(elem(&1, 0))) |> Enum.max()
    Enum.map_join(rows, "\n", fn {count, text} -> "  #{String.pad_leading(count, width)} #{text}" end)
  end

  defp hash(version), do: version |> Integer.to_string(16) |> String.downcase()

  defp number(n), do: n |> Integer.to_string() |> String.replace(~r/\B(?=(...)+$)/, ",")
end
