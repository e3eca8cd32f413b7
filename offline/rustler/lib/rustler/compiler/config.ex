defmodule Rustler.Compiler.Config do
  @moduledoc """
  What one `use Rustler` asks for, checked and with its defaults filled in. It does not look at the disk.
  """

  @known [
    :otp_app,
    :crate,
    :path,
    :mode,
    :features,
    :default_features,
    :cargo,
    :env,
    :target_dir,
    :load_from,
    :load_data,
    :skip_compilation?
  ]

  @enforce_keys [:module, :otp_app, :crate, :path, :load_from]
  defstruct [
    :module,
    :otp_app,
    :crate,
    :path,
    :load_from,
    :target_dir,
    mode: :release,
    features: [],
    default_features: true,
    cargo: :system,
    env: [],
    load_data: 0,
    skip_compilation?: false,
    external_resources: [],
    watched: nil
  ]

  @type t :: %__MODULE__{}

  @doc """
  Makes the settings of `module` out of its application configuration and its `use` options.
  """
  @spec new(module, keyword, keyword) :: t
  def new(module, settings, opts) do
    merged = Keyword.merge(opts, settings)

    case Keyword.keys(merged) -- @known do
      [] -> :ok
      unknown -> raise ArgumentError, "unknown options for Rustler in #{inspect(module)}: #{inspect(unknown)}"
    end

    otp_app = Keyword.fetch!(merged, :otp_app)
    crate = to_string(merged[:crate] || otp_app)

    defaults = [
      module: module,
      crate: crate,
      path: "native/#{crate}",
      load_from: {otp_app, "priv/native/#{crate}"}
    ]

    defaults
    |> Keyword.merge(merged)
    |> Keyword.put(:crate, crate)
    |> then(&struct!(__MODULE__, &1))
    |> check()
  end

  defp check(%{mode: mode} = config) when mode not in [:release, :debug] do
    raise ArgumentError,
          ":mode in #{inspect(config.module)} must be :release or :debug, got: #{inspect(mode)}"
  end

  defp check(%{cargo: cargo} = config) do
    case cargo do
      :system -> config
      {:bin, path} when is_binary(path) -> config
      _ -> raise ArgumentError, ":cargo in #{inspect(config.module)} must be :system or {:bin, path}"
    end
  end
end
