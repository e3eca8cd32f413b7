defmodule Mote.Bench.Options do
  # The command line of `mix mote.bench`.
  @moduledoc false

  alias Mote.Bench
  alias Mote.Bench.{Northwind.Data, Savina, Variant}

  @switches [
    depth: :string,
    n: :string,
    runs: :integer,
    seconds: :integer,
    sponsor: :string,
    tier: :string,
    compare: :string,
    data: :string,
    cores: :string,
    format: :string
  ]

  # Options that name one of a few. Kept as atoms, so that these are there as soon as this module is.
  @choices %{
    sponsor: Variant.sponsors(),
    tier: Variant.tiers() -- [:default],
    cores: [:any, :even],
    format: [:table, :tsv]
  }

  # Stands for all programs of that suite.
  @suite "savina"

  defstruct programs: [],
            suite: false,
            depth: nil,
            n: nil,
            runs: nil,
            seconds: nil,
            sponsor: nil,
            tier: :default,
            compare: false,
            data: nil,
            cores: :any,
            format: :table

  @type t :: %__MODULE__{
          programs: [module],
          suite: boolean,
          depth: [pos_integer] | nil,
          n: [pos_integer] | nil,
          runs: pos_integer | nil,
          seconds: pos_integer | nil,
          sponsor: Variant.sponsors() | nil,
          tier: Variant.tiers(),
          compare: boolean | :schedulers,
          data: Path.t() | nil,
          cores: :any | :even,
          format: :table | :tsv
        }

  @doc "Reads the arguments. An error is a sentence for the user."
  @spec parse([String.t()]) :: {:ok, t} | {:error, String.t()}
  def parse(argv) do
    {given, names, invalid} = OptionParser.parse(argv, strict: @switches)

    with :ok <- valid(invalid),
         {:ok, programs} <- programs(names),
         :ok <- programs_given(programs, given),
         {:ok, options} <- options(given, suite(%__MODULE__{programs: programs}, names)),
         :ok <- own_sizes(options, given),
         :ok <- used(options, :depth, "is not the size of", &(&1.param == :depth)),
         :ok <- used(options, :n, "is not the size of", &(&1.param == :n)),
         :ok <- used(options, :sponsor, "changes nothing for", &(&1.machines == nil)),
         :ok <- used(options, :seconds, "changes nothing for", & &1.elsewhere),
         :ok <- used(options, :data, "changes nothing for", & &1.data),
         do: {:ok, options}
  end

  @doc "The sizes to run a program with."
  @spec params(t, module) :: [pos_integer]
  def params(%__MODULE__{} = options, program) do
    about = program.about()
    Map.fetch!(options, about.param) || about.defaults
  end

  @doc "Which sponsors to run them on."
  @spec sponsor(t) :: Variant.sponsors()
  def sponsor(%__MODULE__{sponsor: sponsor}), do: sponsor || :st

  @doc """
  Sizes: numbers and ranges, separated by commas.

      iex> Mote.Bench.Options.sizes("5..7,10,1_000")
      {:ok, [5, 6, 7, 10, 1000]}
  """
  @spec sizes(String.t()) :: {:ok, [pos_integer]} | :error
  def sizes(text) do
    sizes = text |> String.split(",") |> Enum.map(&size/1)
    if :error in sizes, do: :error, else: {:ok, Enum.concat(sizes)}
  end

  defp size(text) do
    case text |> String.split("..") |> Enum.map(&number/1) do
      [n] when is_integer(n) -> [n]
      [first, last] when is_integer(first) and is_integer(last) and first <= last -> Enum.to_list(first..last)
      _ -> :error
    end
  end

  defp number(text) do
    case Integer.parse(String.replace(text, "_", "")) do
      {n, ""} when n > 0 -> n
      _ -> :error
    end
  end

  defp valid([]), do: :ok

  defp valid([{option, nil} | _]) do
    if known?(option),
      do: {:error, "#{option} needs a value"},
      else: {:error, "there is no option #{option}"}
  end

  defp valid([{option, value} | _]), do: {:error, "#{option} cannot be #{inspect(value)}"}

  defp known?("--" <> name), do: Enum.any?(@switches, fn {key, _} -> Atom.to_string(key) == name end)
  defp known?(_), do: false

  defp programs([@suite]), do: {:ok, Savina.programs()}

  defp programs(names) do
    Enum.reduce_while(names, {:ok, []}, fn name, {:ok, found} ->
      case Bench.fetch(name) do
        {:ok, program} -> {:cont, {:ok, found ++ [program]}}
        :error -> {:halt, {:error, "there is no bench program #{inspect(name)}; there are: #{known_names()}"}}
      end
    end)
  end

  # Without anything it is the list of programs that is wanted.
  defp programs_given([], [_ | _]), do: {:error, "say what to measure: one or several of #{known_names()}"}
  defp programs_given(_programs, _given), do: :ok

  defp known_names, do: Enum.map_join(Bench.programs(), ", ", & &1.about().name) <> "; or #{@suite} alone"

  # All columns of its table are measured, whatever else is said.
  defp suite(options, [@suite]), do: %{options | suite: true, sponsor: :both, compare: :schedulers}
  defp suite(options, _names), do: options

  defp own_sizes(%__MODULE__{suite: false}, _given), do: :ok

  defp own_sizes(%__MODULE__{suite: true}, given) do
    case Enum.find([:n, :depth, :sponsor, :compare], &Keyword.has_key?(given, &1)) do
      nil ->
        :ok

      key ->
        {:error, "--#{key} cannot be said of #{@suite}, whose programs have sizes and variants of their own"}
    end
  end

  defp options(given, options) do
    Enum.reduce_while(given, {:ok, options}, fn {key, value}, {:ok, options} ->
      case option(key, value) do
        {:ok, value} -> {:cont, {:ok, Map.put(options, key, value)}}
        {:error, message} -> {:halt, {:error, message}}
      end
    end)
  end

  defp option(key, text) when key in [:depth, :n] do
    with :error <- sizes(text),
         do: {:error, "--#{key} takes numbers and ranges such as 10 or 5..12,20, got: #{inspect(text)}"}
  end

  defp option(key, number) when key in [:runs, :seconds] and number > 0, do: {:ok, number}
  defp option(key, n) when key in [:runs, :seconds], do: {:error, "--#{key} must be at least 1, got: #{n}"}

  defp option(key, text) when is_map_key(@choices, key) do
    choices = @choices[key]

    if choice = Enum.find(choices, &(Atom.to_string(&1) == text)) do
      {:ok, choice}
    else
      {others, [last]} = Enum.split(choices, -1)
      {:error, "--#{key} must be #{Enum.join(others, ", ")} or #{last}, got: #{inspect(text)}"}
    end
  end

  defp option(:compare, "beam"), do: {:ok, true}
  defp option(:compare, other), do: {:error, "--compare must be beam, got: #{inspect(other)}"}

  # Read here to be told what is wrong with it before anything is measured.
  defp option(:data, directory) do
    Data.read(directory)
    {:ok, Path.expand(directory)}
  rescue
    error in Data.Error -> {:error, "--data: " <> Exception.message(error)}
  end

  # An option that would change nothing is a mistake: some program must have a use for it.
  defp used(%__MODULE__{programs: programs} = options, key, but, use?) do
    if Map.fetch!(options, key) == nil or Enum.any?(programs, &use?.(&1.about())) do
      :ok
    else
      {:error, "--#{key} #{but} #{Enum.map_join(programs, ", ", & &1.about().name)}"}
    end
  end
end
