defmodule Mote.Total.Regexes do
  # Regular expressions, by Erlang's own engine.
  @moduledoc false

  @none Mote.Total.None.value()

  # As `Regex` translates them.
  @options %{
    ?i => [:caseless],
    ?m => [:multiline],
    ?s => [:dotall, newline: :anycrlf],
    ?x => [:extended],
    ?u => [:unicode, :ucp],
    ?U => [:ungreedy],
    ?r => [:ungreedy]
  }

  def regex_run(pattern, text, at) when is_binary(text) and is_integer(at) do
    {at, all} = if at < 0, do: {-1 - at, [:global]}, else: {at, []}

    with {:ok, compiled} when at <= byte_size(text) <- compiled(pattern) do
      {:namelist, names} = :re.inspect(compiled, :namelist)
      groups = Enum.to_list(0..elem(compiled, 1)) ++ names

      case :re.run(text, compiled, [{:capture, groups, :index}, {:offset, at} | all]) do
        {:match, places} -> if all == [], do: places, else: Enum.reverse(places)
        :nomatch -> if all == [], do: nil, else: []
      end
    else
      _ -> @none
    end
  rescue
    ArgumentError -> @none
  end

  def regex_run(_, _, _), do: @none

  def regex_names(pattern) do
    case compiled(pattern) do
      {:ok, compiled} -> compiled |> :re.inspect(:namelist) |> elem(1)
      _ -> @none
    end
  end

  defp compiled({source, letters}) when is_binary(source) and is_binary(letters) do
    options = for <<letter <- letters>>, do: Map.get(@options, letter)
    unless nil in options, do: :re.compile(source, Enum.concat(options))
  rescue
    ArgumentError -> nil
  end

  defp compiled(_), do: nil
end
